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
from integrations.text import one_line, shorten

MAX_NAMES, LIKE_LENGTH, MAX_NAME_LENGTH = 12, 2, 80
LOOKUP_SECONDS = 3.0
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
    name: str
    filter: Json
    like: Json
    team: str | None = None
    """The team to search in, for names that belong to a team."""


class NamedNode(LinearModel):
    name: str | None = None
    key: str | None = None
    number: float | None = None

    def text(self) -> str:
        name = shorten(one_line(self.name), MAX_NAME_LENGTH)
        first = name if self.number is None else f"{self.number:g}"
        more = self.key if self.number is None else name
        return f"{first} ({more})" if more else first


class NamedNodes(LinearModel):
    nodes: list[NamedNode] = Field(default=[])


async def explain_result(
    api: LinearApi, params: ListIssues | SearchIssues | ListProjects, states: Sequence[WorkflowState | None]
) -> list[str]:
    """Notes for the model: why a list is empty, or which of the given names do not exist."""
    if params.after:
        return []
    if states:
        return await _why_not_all(api, params, {state.name.casefold() for state in states if state})
    return await (_why_no_project(api, params) if isinstance(params, ListProjects) else _why_no_issue(api, params))


async def _why_not_all(api: LinearApi, params: IssueFilters | ListProjects, existing: Container[str]) -> list[str]:
    """Name the states that do not exist, although others match. A failure or a timeout here never costs the list."""
    states = params.state if params.state and len(params.state) > 1 else ()
    words = [state for state in states if state.casefold() not in existing]
    with suppress(ToolFailed, UpstreamError, TimeoutError):
        async with asyncio.timeout(LOOKUP_SECONDS):
            if isinstance(params, ListProjects):
                return await _unknown_statuses(api, words)
            lookups = [lookup for lookup in _name_lookups(params) if lookup.what == "state" and lookup.name in words]
            return await _missing_notes(api, lookups) if lookups else []
    return []


async def _why_no_issue(api: LinearApi, params: IssueFilters) -> list[str]:
    if params.filter() is None and not isinstance(params, SearchIssues):
        return [NO_ISSUE]
    lookups = list(_name_lookups(params))
    missing = await _missing_notes(api, lookups) if lookups else []
    notes = [ME] if params.assignee_id and filters.is_me(params.assignee_id) else []
    notes += missing or ([ALL_THERE] if len(lookups) > 1 else [])
    if isinstance(params, SearchIssues) and not missing:
        notes.append(OTHER_WORDS if params.include_comments else COMMENTS_TOO)
    return notes if params.include_archived else [*notes, ARCHIVED.format("issues")]


async def _why_no_project(api: LinearApi, params: ListProjects) -> list[str]:
    lookups = [_team(params.team_id)] if params.team_id else []
    if params.query:
        lookups.append(NameLookup("project", params.query, project_like(params.query), _like(params.query, "name")))
    notes = [
        *(await _missing_notes(api, lookups) if lookups else []),
        *(await _unknown_statuses(api, params.state or ())),
    ]
    notes = notes or [NO_SUCH_PROJECT]
    return notes if params.include_archived else [*notes, ARCHIVED.format("projects")]


async def _unknown_statuses(api: LinearApi, words: Sequence[str]) -> list[str]:
    names = [name for name in words if not filters.is_kind_of_state(name, filters.PROJECT_STATE_TYPES)]
    notes = [HEALTH.format(name) for name in names if name.casefold() in HEALTHS]
    if not names:
        return notes
    response = await api.query(queries.STATUSES, {})
    existing = _names(response.data, "projectStatuses")
    existing_names = {name.casefold() for name in existing}
    missing = [name for name in names if name.casefold() not in existing_names and not UUID.fullmatch(name)]
    return [*notes, *(f"There is no project status `{name}`. Available: {_name_list(existing)}." for name in missing)]


async def _missing_notes(api: LinearApi, lookups: Sequence[NameLookup]) -> list[str]:
    by_alias = {f"{lookup.what}{number}": lookup for number, lookup in enumerate(lookups)}
    variables = {alias: lookup.filter for alias, lookup in by_alias.items()}
    variables |= {f"{alias}Like": lookup.like for alias, lookup in by_alias.items()}
    document = queries.names([(alias, lookup.what, *KINDS[lookup.what]) for alias, lookup in by_alias.items()])
    response = await api.query(document, variables)
    missing = {alias: lookup for alias, lookup in by_alias.items() if not _names(response.data, alias)}
    if any(lookup.what == "team" for lookup in missing.values()):  # then nothing is in it either
        missing = {alias: lookup for alias, lookup in missing.items() if not lookup.team}
    return [_missing_note(lookup, _names(response.data, f"{alias}Like")) for alias, lookup in missing.items()]


def _name_lookups(params: IssueFilters) -> Iterator[NameLookup]:
    team = params.team_id
    in_team: Json = {"team": filters.team(team)} if team else {}
    if team:
        yield _team(team)
    if params.project_id:
        yield NameLookup(
            "project", params.project_id, filters.project(params.project_id), _like(params.project_id, "name")
        )
    if params.assignee_id and not (filters.is_me(params.assignee_id) or filters.is_unassigned(params.assignee_id)):
        word = params.assignee_id.removeprefix("@")
        yield NameLookup("user", word, filters.user(word), _like(word.partition("@")[0], "name", "displayName"))
    for word in params.state or ():
        if not filters.is_kind_of_state(word):
            yield NameLookup("state", word, {**filters.state(word), **in_team}, in_team, team)
    for word in params.label or ():
        yield NameLookup("label", word, filters.label(word), _like(word, "name"))
    if params.cycle and not filters.is_kind_of_cycle(params.cycle):
        yield NameLookup("cycle", params.cycle, {**filters.cycle(params.cycle), **in_team}, in_team, team)
    if params.parent_id and (IDENTIFIER.fullmatch(params.parent_id) or UUID.fullmatch(params.parent_id)):
        issue_filter = filters.issue(params.parent_id)
        yield NameLookup("issue", params.parent_id, issue_filter, issue_filter)


def _team(word: str) -> NameLookup:
    return NameLookup("team", word, filters.team(word), {})


def _like(word: str, *fields: str) -> Json:
    """A filter for names that contain the beginning of any word; ids have no similar names."""
    words = [] if UUID.fullmatch(word) else [part for part in word.split() if len(part) > 1][:5]
    return {"or": [{field: {"containsIgnoreCase": part[:LIKE_LENGTH]}} for part in words or [word] for field in fields]}


def _names(data: Json, alias: str) -> list[str]:
    return list(dict.fromkeys(node.text() for node in read(NamedNodes, data.get(alias) or {}).nodes))


def _missing_note(lookup: NameLookup, names: list[str]) -> str:
    what, name = lookup.what, f"`{one_line(lookup.name)}`"
    if what in ("state", "cycle"):
        subject = f"Team {lookup.team} has" if lookup.team else "No team that the app may see has"
        hint = f" {'It has' if lookup.team else 'Available'}: {_name_list(names)}." if names else ""
        return f"{subject} {'no' if lookup.team else 'a'} {what} {name}.{hint}"
    shown = names if what == "team" else _similar(lookup.name, names)
    hint = f" {'Available' if what == 'team' else 'Similar'}: {_name_list(shown)}." if shown else ""
    return f"There is no {what} {name} that the app may see.{hint}"


def _name_list(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")


def _similar(name: str, names: Sequence[str]) -> list[str]:
    """The names similar to a name, or to the part of an e-mail address before the @."""
    return similar_names(name.partition("@")[0], names, limit=len(names), likeness=spelling_of_a_word)
