"""Why was nothing found? Perhaps a name is not there: then it is told, with those that are like it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from integrations.linear import documents, filters
from integrations.linear.api import LinearApi, read
from integrations.linear.asks import IssueFilters, ListProjects, SearchIssues
from integrations.linear.problems import ADMIN
from integrations.linear.shapes import Shape
from integrations.linear.words import UUID

Json = dict[str, Any]

MOST_LIKE, LIKE = 12, 4
ALL_THERE = "Each name that was given is there; together the filters leave nothing."
NO_ISSUE = f"The connected app may see no issue yet. {ADMIN}"
NO_TEAM = f"The connected app may see no team yet. {ADMIN}"
NO_SUCH_PROJECT = "Without filters all projects are listed that the connected app may see."
NO_SUCH_TEAM = "Without `query` all teams are listed that the connected app may see."
ARCHIVED = "Archived issues were left out: `includeArchived` true takes them in."
ME = "`me` is the connected app, not a person: give a name or an e-mail address."


@dataclass(frozen=True, slots=True)
class Asked:
    word: str
    """What it is called, and what of it is asked for in the query."""

    given: str
    filter: Json
    like: Json

    @property
    def kind(self) -> tuple[str, str, str]:
        return (self.word, *KINDS[self.word])


KINDS: Mapping[str, tuple[str, str]] = {
    "team": ("teams", "TeamFilter"),
    "project": ("projects", "ProjectFilter"),
    "user": ("users", "UserFilter"),
    "state": ("workflowStates", "WorkflowStateFilter"),
    "label": ("issueLabels", "IssueLabelFilter"),
}


class Named(Shape):
    name: str
    key: str | None = None

    def text(self) -> str:
        return f"{self.name} ({self.key})" if self.key else self.name


class Names(Shape):
    nodes: list[Named] = Field(default=[])


async def why_nothing(api: LinearApi, ask: IssueFilters) -> list[str]:
    """Sentences for a model, of a list that came out empty."""
    if ask.filter() is None and not isinstance(ask, SearchIssues):
        return [NO_ISSUE]
    asked = list(_asked(ask))
    notes = [ME] if ask.assignee_id and filters.is_me(ask.assignee_id) else []
    if asked:
        notes += await _missing(api, asked) or ([ALL_THERE] if len(asked) > 1 else [])
    return notes if ask.include_archived else [*notes, ARCHIVED]


async def why_no_project(api: LinearApi, ask: ListProjects) -> list[str]:
    return (await _missing(api, [_team(ask.team_id)]) if ask.team_id else []) or [NO_SUCH_PROJECT]


async def _missing(api: LinearApi, asked: list[Asked]) -> list[str]:
    variables = {each.word: each.filter for each in asked} | {f"{each.word}Like": each.like for each in asked}
    answer = await api.ask(documents.names([each.kind for each in asked]), variables)
    missing = [each for each in asked if not _names(answer.data, each.word)]
    if any(each.word == "team" for each in missing):  # then no state is in it either
        missing = [each for each in missing if each.word != "state"]
    return [_told(each, _names(answer.data, f"{each.word}Like")) for each in missing]


def _asked(ask: IssueFilters) -> Iterable[Asked]:
    if ask.team_id:
        yield _team(ask.team_id)
    if ask.project_id:
        yield Asked("project", ask.project_id, filters.project(ask.project_id), _like(ask.project_id, "name"))
    if ask.assignee_id and not (filters.is_me(ask.assignee_id) or filters.is_nobody(ask.assignee_id)):
        word = ask.assignee_id.removeprefix("@")
        yield Asked("user", word, filters.user(word), _like(word.partition("@")[0], "name", "displayName"))
    if ask.state and not filters.is_kind_of_state(ask.state):
        in_team: Json = {"team": filters.team(ask.team_id)} if ask.team_id else {}
        yield Asked("state", ask.state, {**filters.state(ask.state), **in_team}, in_team)
    if ask.label:
        yield Asked("label", ask.label, filters.label(ask.label), _like(ask.label, "name"))


def _team(word: str) -> Asked:
    return Asked("team", word, filters.team(word), {})


def _like(word: str, *fields: str) -> Json:
    """What has the beginning of any of its words in it; of an id nothing is like it."""
    words = [] if UUID.fullmatch(word) else [each for each in word.split() if len(each) > 1][:5]
    return {"or": [{field: {"containsIgnoreCase": each[:LIKE]}} for each in words or [word] for field in fields]}


def _names(data: Json, word: str) -> list[str]:
    return list(dict.fromkeys(each.text() for each in read(Names, data.get(word) or {}).nodes))


def _told(asked: Asked, like: list[str]) -> str:
    shown = ", ".join(like[:MOST_LIKE]) + (", …" if len(like) > MOST_LIKE else "")
    there = f"There are: {shown}." if asked.word in ("team", "state") else f"Similar: {shown}."
    return f"There is no {asked.word} `{asked.given}` that the app may see.{' ' + there if like else ''}"
