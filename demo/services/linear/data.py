"""Data of the Linear demo: two teams of Acme that the app may see, and one that it may not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from demo.oauth_provider.vendors.base import uuid_of

Json = dict[str, Any]

SITE = "https://linear.app/acme"
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
PRIORITIES = ("No priority", "Urgent", "High", "Medium", "Low")
STATES = {
    "ENG": "Triage:triage Backlog:backlog Todo:unstarted In-Progress:started In-Review:started Done:completed "
    "Canceled:canceled Duplicate:duplicate",
    "DES": "Backlog:backlog Todo:unstarted Designing:started Approved:completed Canceled:canceled",
    "OPS": "Todo:unstarted Done:completed",
}
LOGIN = """Since the last release Safari users are sent back to the login page after they have signed in.

## Steps
1. Open the shop in Safari 19, not signed in.
2. Add anything to the cart and press **Check out**.
3. Sign in.

Expected: the checkout page. Actual: the login page again, without an error.

The session cookie is set with `SameSite=Strict`, which Safari does not send along after the redirect."""

FIELDS = ("number", "team", "title", "state", "priority", "assignee", "project", "labels", "days")
ISSUES: Sequence[tuple[int, str, str, str, int, str, str, str, int]] = (
    (101, "ENG", "Checkout fails in Safari after signing in", "In Progress", 1, "ada", "Checkout 2.0", "Bug Web", 0),
    (102, "ENG", "Show delivery costs before the last step", "Todo", 2, "grace", "Checkout 2.0", "Feature Web", 1),
    (103, "ENG", "Write down how refunds are booked", "Backlog", 4, "", "Checkout 2.0", "", 9),
    (104, "ENG", "Rotate the keys of the payment provider", "In Review", 2, "grace", "SOC 2 readiness", "Security", 1),
    (105, "ENG", "Keep audit logs for a year", "Done", 3, "grace", "SOC 2 readiness", "Security", 12),
    (106, "ENG", "App crashes when the camera is denied", "Todo", 1, "alan", "Mobile onboarding", "Bug Mobile", 2),
    (107, "ENG", "Remember the language that was chosen", "Backlog", 0, "", "Mobile onboarding", "Mobile", 20),
    (108, "ENG", "Login loop on Safari", "Duplicate", 0, "", "", "Bug Web", 3),
    (109, "ENG", "Nightly build takes 40 minutes", "Triage", 3, "", "", "", 0),
    (110, "ENG", "Upgrade to the new date picker", "Canceled", 4, "ada", "", "Web", 30),
    (111, "ENG", "Test the session cookie in all browsers", "Todo", 2, "ada", "Checkout 2.0", "Web", 0),
    (112, "ENG", "Fix the redirect after signing in", "Done", 1, "ada", "Checkout 2.0", "Bug Web", 1),
    (21, "DES", "New empty states for the cart", "Designing", 3, "hedy", "Checkout 2.0", "", 1),
    (22, "DES", "Onboarding in three steps", "Approved", 2, "hedy", "Mobile onboarding", "Feature", 6),
    (23, "DES", "Dark mode", "Backlog", 0, "", "", "Feature", 45),
    (7, "OPS", "Renew the insurance", "Todo", 2, "", "", "", 4),
)
PEOPLE = {"ada": "Ada Lovelace", "grace": "Grace Hopper", "alan": "Alan Turing", "hedy": "Hedy Lamarr"}
TEAMS = {"ENG": "Engineering", "DES": "Design", "OPS": "Back office"}
PROJECTS: Sequence[tuple[str, str, str, str, float, str, str, str]] = (
    ("Checkout 2.0", "In Progress", "started", "atRisk", 0.4, "ada", "ENG DES", "A checkout in two steps."),
    ("Mobile onboarding", "Planned", "planned", "", 0.1, "hedy", "ENG DES", "The first five minutes with the app."),
    ("SOC 2 readiness", "Completed", "completed", "onTrack", 1.0, "grace", "ENG", "What the auditors ask for."),
)

PROJECT_STATUSES = {
    "Backlog": "backlog",
    "Planned": "planned",
    "In Progress": "started",
    "Completed": "completed",
    "Canceled": "canceled",
}


def id_of(*what: str) -> str:
    return uuid_of("linear", *what)


def at(days: float) -> str:
    """The time a number of days ago."""
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Data:
    def __init__(self) -> None:
        self.organization: Json = {"id": id_of("Acme"), "name": "Acme", "urlKey": "acme"}
        self.users = {key: person(key, name) for key, name in PEOPLE.items()}
        self.app = person("plugboard", "Plugboard") | {"app": True, "isMe": True}
        self.labels = {name: {"id": id_of("label", name), "name": name, "color": "#5e6ad2"} for name in _label_names()}
        self.teams = {key: self._team(key, name) for key, name in TEAMS.items()}
        self.projects = [self._project(*row) for row in PROJECTS]
        self.issues: list[Json] = []
        for row in ISSUES:
            self.add(**dict(zip(FIELDS, row, strict=True)))  # type: ignore[arg-type]
        self._connect()

    def issue(self, identifier: str) -> Json:
        return next(issue for issue in self.issues if issue["identifier"] == identifier)

    def add(
        self,
        number: int,
        team: str,
        title: str,
        *,
        state: str = "Todo",
        priority: int = 0,
        assignee: str = "",
        project: str = "",
        labels: str = "",
        days: float = 0,
        **more: object,
    ) -> Json:
        key = f"{team}-{number}"
        created: Json = {
            **dict.fromkeys(("parent", "cycle", "projectMilestone", "delegate", "botActor", "externalUserCreator")),
            **{name: [] for name in ("children", "relations", "inverseRelations", "attachments", "comments")},
            "id": id_of("issue", key),
            "identifier": key,
            "number": number,
            "title": title,
            "sortOrder": number,
            "url": f"{SITE}/issue/{key}/{slug(title)}",
            "branchName": f"{key.lower()}-{slug(title)}",
            "team": self.teams[team],
            "state": self._state(team, state),
            "description": None,
            "trashed": None,
            "priority": priority,
            "priorityLabel": PRIORITIES[priority],
            "estimate": None,
            "dueDate": None,
            "assignee": self.users.get(assignee),
            "creator": self.users["grace"],
            "subscribers": [],
            "project": next((each for each in self.projects if each["name"] == project), None),
            "labels": [self.labels[name] for name in labels.split()],
            "archivedAt": None,
            "createdAt": at(days + 14),
            "updatedAt": at(days + number / 1e5),
            "previousIdentifiers": [],
            "customerTicketCount": 0,
            "metadata": {},
            **more,
        }
        self.issues.append(created)
        return created

    def add_many(self, number: int, **more: object) -> None:
        for index in range(number):
            self.add(1000 + index, "ENG", f"Tidy up the shelf number {index + 1}", days=100 + index, **more)

    def _connect(self) -> None:
        """Adds a relation between two issues."""
        login, test, fix = self.issue("ENG-101"), self.issue("ENG-111"), self.issue("ENG-112")
        login |= {"description": LOGIN, "estimate": 3, "dueDate": "2026-11-20", "children": [test, fix]}
        login |= {"projectMilestone": {"id": id_of("milestone"), "name": "Beta", "targetDate": "2026-12-01"}}
        for child in (test, fix):
            child["parent"] = login
        for issue in (login, test, self.issue("ENG-102")):
            issue["cycle"] = self.teams["ENG"]["activeCycle"]
        relate(self.issue("ENG-108"), "duplicate", login)
        relate(login, "blocks", self.issue("ENG-102"))
        login["attachments"] = [
            {"title": "Send the cookie along", "subtitle": "Merged", "sourceType": "github"}
            | {"url": "https://git.acme.example/shop/pull/412"}
        ]
        self.comment(login, "ada", "It is the `SameSite` of the session cookie. I have a branch.", 0.4)
        self.comment(login, "", "A customer tells the same of Safari on the iPad.", 0.2, externalUser={"name": "Eve"})
        first = login["comments"][0]
        self.comment(login, "grace", "Then let us release it with 2.0.1.", 0.1, parent=first)

    def comment(self, issue: Json, author: str, body: str, days: float, **more: object) -> None:
        number = len(issue["comments"]) + 1
        url = f"{issue['url']}#comment-{number}"
        created = {"id": id_of("comment", issue["identifier"], str(number)), "body": body, "url": url}
        whose = {"user": self.users.get(author), "botActor": None, "externalUser": None, "parent": None}
        issue["comments"].append({**created, **whose, "createdAt": at(days), "resolvedAt": None, **more})

    def _team(self, key: str, name: str) -> Json:
        states = [word.replace("-", " ").split(":") for word in STATES[key].split()]
        numbers = count()
        return {
            "id": id_of("team", key),
            "key": key,
            "name": name,
            "displayName": name,
            "parent": None,
            "description": f"Everything that {name} does." if key != "DES" else None,
            "visibility": "public",
            "activeCycle": cycle(42) if key == "ENG" else None,
            "states": [
                {"id": id_of("state", key, state), "name": state, "type": kind, "position": float(next(numbers))}
                for state, kind in states
            ],
            "members": list(self.users.values()),
            "labels": [],
            "timezone": "Europe/Berlin",
            "issueCount": 12,
            **dict.fromkeys(("cyclesEnabled", "triageEnabled"), key == "ENG"),
            **dict.fromkeys(("cycleDuration", "cycleStartDay", "upcomingCycleCount", "defaultIssueEstimate"), 1.0),
            "issueEstimationType": "fibonacci",
            "createdAt": at(400),
            "updatedAt": at(40),
        }

    def _project(
        self, name: str, status: str, kind: str, health: str, done: float, lead: str, teams: str, what: str
    ) -> Json:
        where = f"{slug(name)}-{id_of('slug', name)[-12:]}"
        members = [self.teams[key] for key in teams.split()]
        return {
            "id": id_of("project", name),
            "slugId": where[-12:],
            "name": name,
            "description": what,
            "url": f"{SITE}/project/{where}",
            "priority": 2,
            "priorityLabel": "High",
            "color": "#5e6ad2",
            "status": {"id": id_of("status", kind), "name": status, "type": kind},
            "health": health or None,
            "progress": done,
            "lead": self.users[lead],
            "creator": self.users[lead],
            "teams": members,
            "accessibleTeams": members,
            "members": [self.users[lead]],
            "labels": [],
            "initiatives": [],
            "startDate": "2026-09-01",
            "targetDate": "2026-12-15",
            "createdAt": at(120),
            "updatedAt": at(3),
            "content": f"# {name}\n\n{what}",
            "projectMilestones": [],
            "externalLinks": [],
            "scope": 20.0,
            "lastUpdate": None,
        }

    def _state(self, team: str, name: str) -> Json:
        match: Json = next(state for state in self.teams[team]["states"] if state["name"] == name)
        return match


def person(key: str, name: str) -> Json:
    created = {"id": id_of("user", key), "name": name, "displayName": key, "email": f"{key}@acme.example"}
    return {**created, "app": False, "isMe": False, "active": True, "url": f"{SITE}/profiles/{key}"}


def cycle(number: int) -> Json:
    times = {"startsAt": at(3), "endsAt": at(-11)}
    return {"id": id_of("cycle", str(number)), "number": number, "name": None, **times, "isActive": True}


def relate(issue: Json, kind: str, other: Json) -> None:
    issue["relations"].append({"type": kind, "issue": issue, "relatedIssue": other})
    other["inverseRelations"].append({"type": kind, "issue": issue, "relatedIssue": other})


def slug(text: str) -> str:
    return "-".join("".join(item if item.isalnum() else " " for item in text.lower()).split())


def _label_names() -> Iterable[str]:
    return dict.fromkeys(name for row in ISSUES for name in row[7].split())
