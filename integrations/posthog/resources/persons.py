"""The tools for persons and cohorts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.objects import Details, NoneSuch, cuts, first, listed, one, read, whole
from integrations.posthog.params import (
    PAGED,
    Full,
    InProject,
    Name,
    Paged,
    Searched,
    Words,
    from_link,
    is_number,
    is_uuid,
    numbered,
)
from integrations.posthog.results import Count, Line, Page, PostHogObject, Prose, Unusual, Who
from integrations.posthog.truncation import fitted
from integrations.service_client import ToolFailed
from integrations.tool import tool

PERSONS, COHORTS = "persons", "cohorts"
WITHOUT = "Without this scope, give `personId` as a UUID, or `distinctId`."
WHAT, LIST_PERSONS, LIST_COHORTS = "person", "posthog_list_persons", "posthog_list_cohorts"
NOBODY = (
    "Project {project} has no person {id}. Give a UUID, a number, an email address or a distinct ID; "
    "`posthog_list_persons` with `search` finds persons by name."
)
MOST_IDS, MOST_PROPERTIES = 5, 12
ROOM_OF_PROPERTIES, ROOM_OF_FILTERS = 1_000, 12_000
TELLING = ("email", "name", "username", "plan", "company", "role", "$initial_referring_domain", "$geoip_country_name")
"""The most useful properties of a person, in order."""


class ListPersons(Paged):
    aliases: ClassVar[Mapping[str, str]] = {**PAGED, **dict.fromkeys(("userid", "user"), "distinct_id")}
    search: Words | None = Field(
        default=None, max_length=200, description="Part of an email address, a name, a distinct ID or a person's ID."
    )
    email: Name | None = Field(
        default=None, max_length=400, description="Only persons with exactly this email address."
    )
    distinct_id: Name | None = Field(
        default=None, max_length=400, description="Only the person with exactly this distinct ID."
    )


class GetPerson(InProject):
    aliases: ClassVar[Mapping[str, str]] = {
        **InProject.aliases,
        **dict.fromkeys(("id", "uuid", "person", "email", "distinctid", "userid", "url"), "person_id"),
    }
    person_id: Annotated[Name, from_link("persons?")] = Field(
        min_length=1,
        max_length=400,
        description="A UUID, a number, an email address, a distinct ID, or a link.",
        examples=["ada@acme.example"],
    )
    full: Full = False


class GetCohort(InProject):
    aliases: ClassVar[Mapping[str, str]] = {**InProject.aliases, **dict.fromkeys(("id", "cohort", "url"), "cohort_id")}
    cohort_id: Annotated[str, from_link(COHORTS), numbered(LIST_COHORTS)] = Field(
        description="Its number, or a link to it.", examples=["41"]
    )
    full: Full = False


class Person(PostHogObject):
    headed: ClassVar[tuple[str, ...]] = ("id", "name", "uuid")
    apart: ClassVar[tuple[str, ...]] = ("properties",)
    uuid: str | None = Field(default=None, description="The `personId` for other tools.")
    name: Line = None
    distinct_ids: list[str] = Field(default=[])
    properties: Json = Field(default={})
    last_seen_at: str | None = None
    created_at: str | None = None

    def heading(self) -> str:
        number = f", number {self.id}" if self.uuid and self.id != self.uuid else ""
        return f"{self.name or '(unnamed)'} (id {self.uuid or self.id}{number})"


class PersonPage(Page[Person]):
    what: ClassVar[tuple[str, str]] = ("person", "persons")
    hint: ClassVar[str] = (
        "`search` matches parts of email addresses, names and IDs; `posthog_query` finds persons by a property."
    )
    besides: ClassVar[str] = "`email` and `distinctId` match exactly."
    reader: ClassVar[str] = "posthog_get_person"
    named: ClassVar[str] = ""


class PersonDetails(Details):
    person: Person

    def item(self) -> PostHogObject:
        return self.person


class Cohort(PostHogObject):
    name: Line = None
    description: Prose = None
    count: Count = Field(default=None, description="The number of persons in the cohort.")
    is_static: bool | None = Field(default=None, description="True for a fixed list of persons, which no rule changes.")
    is_calculating: Unusual = None
    last_calculation: str | None = None
    errors_calculating: Annotated[int | None, BeforeValidator(lambda value: value or None)] = None
    created_at: str | None = None
    created_by: Who = None


class WholeCohort(Cohort):
    apart: ClassVar[tuple[str, ...]] = ("description", "filters")
    filters: Json | None = Field(default=None, description="The rules for membership, in PostHog's own form.")
    last_error_message: Line = None


class CohortPage(Page[Cohort]):
    what: ClassVar[tuple[str, str]] = ("cohort", "cohorts")
    hint: ClassVar[str] = "`search` covers names."
    reader: ClassVar[str] = "posthog_get_cohort"


class CohortDetails(Details):
    cohort: WholeCohort

    def item(self) -> PostHogObject:
        return self.cohort


@tool("List persons")
async def posthog_list_persons(api: PosthogApi, ask: ListPersons) -> PersonPage:
    """Find persons (users) of a PostHog project by part of their email address, name or ID, or list them.

    Returns id, name, distinct IDs, the most useful properties, when they were last seen, and link.
    `posthog_get_person` reads all properties of a person; `posthog_list_events` with `personId` reads their events. To
    count persons or find them by a property, use `posthog_query` on the table persons.
    """
    query = {"search": ask.search, "email": ask.email, "distinct_id": ask.distinct_id}

    def made(project: Project, found: Json) -> Person:
        return _person(project, found, whole(found, full=ask.full), some=True)

    return await listed(api, ask, PERSONS, query, PersonPage, made)


@tool("Read a person")
async def posthog_get_person(api: PosthogApi, ask: GetPerson) -> PersonDetails:
    """Read one person with all their properties: by UUID, number, email address, distinct ID or link.

    Returns name, distinct IDs, every property, when they were first and last seen, and link. `posthog_list_events` with
    `personId` reads their events. `full: true` returns PostHog's complete object.
    """
    project = await api.project(ask.project_id)
    found = await _someone(api, project, ask.person_id)
    person = _person(project, found, whole(found, full=ask.full, alone=True), some=False)
    return PersonDetails(project_id=project.id, person=person, notes=cuts(person))


@tool("List cohorts")
async def posthog_list_cohorts(api: PosthogApi, ask: Searched) -> CohortPage:
    """List the cohorts (groups of persons) of a PostHog project; `search` matches names and tolerates typos.

    Returns id, name, description, number of persons, whether it is static, when it was last computed, and link.
    `posthog_get_cohort` reads its rules. To list its persons, use `posthog_query` with
    `SELECT id FROM persons WHERE id IN COHORT 41`.
    """

    def made(project: Project, found: Json) -> Cohort:
        return read(Cohort, found, url=_cohort_link(project, found), full=whole(found, full=ask.full))

    return await listed(api, ask, COHORTS, {"search": ask.search}, CohortPage, made)


@tool("Read a cohort")
async def posthog_get_cohort(api: PosthogApi, ask: GetCohort) -> CohortDetails:
    """Read one cohort by its number or link: the number of its persons, and its rules.

    Returns description, count, rules (`filters`, in PostHog's own form), when it was last computed, errors of that
    computation, and link.
    """
    project = await api.project(ask.project_id)
    found = await one(api, project, COHORTS, ask.cohort_id, "cohort", LIST_COHORTS)
    filters, _ = fitted(found.get("filters"), ROOM_OF_FILTERS)
    more = {"filters": filters if isinstance(filters, dict) else None, "full": whole(found, full=ask.full, alone=True)}
    cohort = read(WholeCohort, found, url=_cohort_link(project, found), **more)
    return CohortDetails(project_id=project.id, cohort=cohort, notes=cuts(cohort))


async def known_person(api: PosthogApi, project: Project, uuid: str) -> None:
    """Raise an error if the person does not exist."""
    try:
        await one(api, project, PERSONS, uuid, WHAT, LIST_PERSONS)
    except NoneSuch:
        raise
    except ToolFailed:  # unknown, and the result is complete without it
        return


async def person_called(api: PosthogApi, project: Project, said: str) -> str:
    """The UUID of the person with this number, email address or distinct ID."""
    try:
        found = await _someone(api, project, said)
    except ToolFailed as failed:
        if "`person:read`" not in failed.text:
            raise
        raise failed.with_text(f"{failed.text} {WITHOUT}") from failed
    return str(found.get("uuid") or found.get("id"))


async def _someone(api: PosthogApi, project: Project, said: str) -> Json:
    """Find a person; a UUID or number may also be a distinct ID, which apps can choose freely."""
    if is_uuid(said) or is_number(said):
        with suppress(NoneSuch):
            return await one(api, project, PERSONS, said, WHAT, LIST_PERSONS)
    for name in ("email", "distinct_id") if "@" in said else ("distinct_id",):
        if found := await first(api, project, PERSONS, {name: said}):
            return found
    raise NoneSuch("upstream_refused", NOBODY.format(project=project.id, id=said))


def _person(project: Project, found: Json, full: Json | None, *, some: bool) -> Person:
    properties = found.get("properties") if isinstance(found.get("properties"), dict) else {}
    ids = [str(distinct_id) for distinct_id in found.get("distinct_ids") or []]
    shown = _telling(properties or {}) if some else properties
    told, _ = fitted(shown, ROOM_OF_PROPERTIES if some else 40_000)
    more = [f"and {len(ids) - MOST_IDS} more"] if some and len(ids) > MOST_IDS else []
    return read(
        Person,
        found,
        url=project.link(f"persons/{found.get('uuid') or found.get('id')}"),
        distinct_ids=ids[:MOST_IDS] + more if some else ids[:200],
        properties=told if isinstance(told, dict) else {},
        full=full,
    )


def _telling(properties: Json) -> Json:
    first = {name: properties[name] for name in TELLING if properties.get(name) not in (None, "")}
    rest = {name: value for name, value in properties.items() if not name.startswith("$") and name not in first}
    return dict([*first.items(), *rest.items()][:MOST_PROPERTIES])


def _cohort_link(project: Project, found: Json) -> str:
    return project.link(f"{COHORTS}/{found.get('id')}")
