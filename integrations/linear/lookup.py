"""Notes on empty results: the names that do not exist, and similar ones that do."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import Field

from integrations.errors import UpstreamError
from integrations.json_object import Json
from integrations.linear import filters, queries
from integrations.linear.client import LinearApi, read
from integrations.linear.errors import ADMIN
from integrations.linear.params import IssueFilters, ListIssues, ListProjects, SearchIssues, project_like
from integrations.linear.parsing import IDENTIFIER, UUID
from integrations.linear.results import LinearModel, WorkflowState
from integrations.service_client import ToolFailed
from integrations.similar_names import similar_names, spelling_of_a_word
from integrations.text import one_line, shortened

MOST_LIKE, LIKE, LONGEST = 12, 2, 80
MOMENT = 3.0
ALL_THERE = "Each given name exists, but nothing matches all filters together."
NO_ISSUE = f"The connected app cannot see any issues yet. {ADMIN}"
NO_TEAM = f"The connected app cannot see any teams yet. {ADMIN}"
NO_SUCH_PROJECT = "Without filters the tool lists all projects that the connected app may see."
NO_SUCH_TEAM = "Without `query` the tool lists all teams that the connected app may see."
ARCHIVED = "Archived {} were left out; `includeArchived` true includes them."
ME = "`me` is the connected app, not a person: give a name or an e-mail address."
OTHER_WORDS = "Try other or fewer words."
COMMENTS_TOO = "Try other or fewer words; `includeComments` true searches the comments too."
HEALTH = "`{}` is a project's health. Health cannot be filtered, but each project in the list shows its own, if any."
HEALTHS = frozenset({"at risk", "atrisk", "on track", "ontrack", "off track", "offtrack"})
KINDS: Mapping[str, tuple[str, str]] = {
    "team": ("teams", "TeamFilter"),
    "project": ("projects", "ProjectFilter"),
    "user": ("users", "UserFilter"),
    "state": ("workflowStates", "WorkflowStateFilter"),
    "label": ("issueLabels", "IssueLabelFilter"),
    "cycle": ("cycles", "CycleFilter"),
    "issue": ("issues", "IssueFilter"),
}


@dataclass(frozen=True, slots=True)
class NameLookup:
    what: str
    given: str
    filter: Json
    like: Json
    team: str | None = None
    """The team to search in, for names that belong to a team."""


class NamedNode(LinearModel):
    name: str | None = None
    key: str | None = None
    number: float | None = None

    def text(self) -> str:
        name = shortened(one_line(self.name), LONGEST)
        first = name if self.number is None else f"{self.number:g}"
        more = self.key if self.number is None else name
        return f"{first} ({more})" if more else first


class NamedNodes(LinearModel):
    nodes: list[NamedNode] = Field(default=[])


async def explain_result(
    api: LinearApi, ask: ListIssues | SearchIssues | ListProjects, states: Sequence[WorkflowState | None]
) -> list[str]:
    """Notes for the model: why a list is empty, or which of the given names do not exist."""
    if ask.after:
        return []
    if states:
        return await _why_not_all(api, ask, {each.name.casefold() for each in states if each})
    return await (_why_no_project(api, ask) if isinstance(ask, ListProjects) else _why_no_issue(api, ask))


async def _why_not_all(api: LinearApi, ask: IssueFilters | ListProjects, seen: Container[str]) -> list[str]:
    """Name the states that do not exist, although others match. A failure or a timeout here never costs the list."""
    several = ask.state if ask.state and len(ask.state) > 1 else ()
    words = [each for each in several if each.casefold() not in seen]
    with suppress(ToolFailed, UpstreamError, TimeoutError):
        async with asyncio.timeout(MOMENT):
            if isinstance(ask, ListProjects):
                return await _unknown_statuses(api, words)
            asked = [each for each in _asked(ask) if each.what == "state" and each.given in words]
            return await _missing(api, asked) if asked else []
    return []


async def _why_no_issue(api: LinearApi, ask: IssueFilters) -> list[str]:
    if ask.filter() is None and not isinstance(ask, SearchIssues):
        return [NO_ISSUE]
    asked = list(_asked(ask))
    missing = await _missing(api, asked) if asked else []
    notes = [ME] if ask.assignee_id and filters.is_me(ask.assignee_id) else []
    notes += missing or ([ALL_THERE] if len(asked) > 1 else [])
    if isinstance(ask, SearchIssues) and not missing:
        notes.append(OTHER_WORDS if ask.include_comments else COMMENTS_TOO)
    return notes if ask.include_archived else [*notes, ARCHIVED.format("issues")]


async def _why_no_project(api: LinearApi, ask: ListProjects) -> list[str]:
    asked = [_team(ask.team_id)] if ask.team_id else []
    if ask.query:
        asked.append(NameLookup("project", ask.query, project_like(ask.query), _like(ask.query, "name")))
    notes = [*(await _missing(api, asked) if asked else []), *(await _unknown_statuses(api, ask.state or ()))]
    notes = notes or [NO_SUCH_PROJECT]
    return notes if ask.include_archived else [*notes, ARCHIVED.format("projects")]


async def _unknown_statuses(api: LinearApi, words: Sequence[str]) -> list[str]:
    named = [each for each in words if not filters.is_kind_of_state(each, filters.PROJECT_STATE_TYPES)]
    notes = [HEALTH.format(each) for each in named if each.casefold() in HEALTHS]
    if not named:
        return notes
    answer = await api.query(queries.STATUSES, {})
    there = _names(answer.data, "projectStatuses")
    known = {each.casefold() for each in there}
    missing = [each for each in named if each.casefold() not in known and not UUID.fullmatch(each)]
    return [*notes, *(f"There is no project status `{each}`. Available: {_listed(there)}." for each in missing)]


async def _missing(api: LinearApi, asked: Sequence[NameLookup]) -> list[str]:
    named = {f"{each.what}{number}": each for number, each in enumerate(asked)}
    variables = {name: each.filter for name, each in named.items()}
    variables |= {f"{name}Like": each.like for name, each in named.items()}
    document = queries.names([(name, each.what, *KINDS[each.what]) for name, each in named.items()])
    answer = await api.query(document, variables)
    missing = {name: each for name, each in named.items() if not _names(answer.data, name)}
    if any(each.what == "team" for each in missing.values()):  # then nothing is in it either
        missing = {name: each for name, each in missing.items() if not each.team}
    return [_told(each, _names(answer.data, f"{name}Like")) for name, each in missing.items()]


def _asked(ask: IssueFilters) -> Iterator[NameLookup]:
    team = ask.team_id
    in_team: Json = {"team": filters.team(team)} if team else {}
    if team:
        yield _team(team)
    if ask.project_id:
        yield NameLookup("project", ask.project_id, filters.project(ask.project_id), _like(ask.project_id, "name"))
    if ask.assignee_id and not (filters.is_me(ask.assignee_id) or filters.is_nobody(ask.assignee_id)):
        word = ask.assignee_id.removeprefix("@")
        yield NameLookup("user", word, filters.user(word), _like(word.partition("@")[0], "name", "displayName"))
    for word in ask.state or ():
        if not filters.is_kind_of_state(word):
            yield NameLookup("state", word, {**filters.state(word), **in_team}, in_team, team)
    for word in ask.label or ():
        yield NameLookup("label", word, filters.label(word), _like(word, "name"))
    if ask.cycle and not filters.is_kind_of_cycle(ask.cycle):
        yield NameLookup("cycle", ask.cycle, {**filters.cycle(ask.cycle), **in_team}, in_team, team)
    if ask.parent_id and (IDENTIFIER.fullmatch(ask.parent_id) or UUID.fullmatch(ask.parent_id)):
        wanted = filters.issue(ask.parent_id)
        yield NameLookup("issue", ask.parent_id, wanted, wanted)


def _team(word: str) -> NameLookup:
    return NameLookup("team", word, filters.team(word), {})


def _like(word: str, *fields: str) -> Json:
    """A filter for names that contain the beginning of any word; ids have no similar names."""
    words = [] if UUID.fullmatch(word) else [each for each in word.split() if len(each) > 1][:5]
    return {"or": [{field: {"containsIgnoreCase": each[:LIKE]}} for each in words or [word] for field in fields]}


def _names(data: Json, word: str) -> list[str]:
    return list(dict.fromkeys(each.text() for each in read(NamedNodes, data.get(word) or {}).nodes))


def _told(asked: NameLookup, there: list[str]) -> str:
    what, given = asked.what, f"`{one_line(asked.given)}`"
    if what in ("state", "cycle"):
        who = f"Team {asked.team} has" if asked.team else "No team that the app may see has"
        has = f" {'It has' if asked.team else 'Available'}: {_listed(there)}." if there else ""
        return f"{who} {'no' if asked.team else 'a'} {what} {given}.{has}"
    shown = there if what == "team" else _similar(asked.given, there)
    are = f" {'Available' if what == 'team' else 'Similar'}: {_listed(shown)}." if shown else ""
    return f"There is no {what} {given} that the app may see.{are}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_LIKE]) + (", …" if len(names) > MOST_LIKE else "")


def _similar(given: str, names: Sequence[str]) -> list[str]:
    """For an e-mail address, only the part before the @ is compared."""
    return similar_names(given.partition("@")[0], names, limit=len(names), likeness=spelling_of_a_word)
