"""The tools for persons and cohorts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.objects import (
    Details,
    ObjectNotFound,
    cut_notes,
    first_match,
    full_object,
    list_objects,
    read,
    read_object,
)
from integrations.posthog.params import (
    PAGING_ALIASES,
    Full,
    InProject,
    Name,
    Paged,
    Searched,
    Words,
    from_link,
    is_number,
    is_uuid,
    require_number,
)
from integrations.posthog.results import Count, Line, Page, PostHogObject, Prose, Unusual, Who
from integrations.posthog.truncation import fit
from integrations.service_client import ToolFailed
from integrations.tool import tool

PERSONS, COHORTS = "persons", "cohorts"
WITHOUT_SCOPE = "Without this scope, give `personId` as a UUID, or `distinctId`."
WHAT, LIST_PERSONS, LIST_COHORTS = "person", "posthog_list_persons", "posthog_list_cohorts"
NO_SUCH_PERSON = (
    "Project {project} has no person {id}. Give a UUID, a number, an email address or a distinct ID; "
    "`posthog_list_persons` with `search` finds persons by name."
)
MOST_IDS, MOST_PROPERTIES = 5, 12
ROOM_OF_PROPERTIES, ROOM_OF_FILTERS = 1_000, 12_000
KEY_PROPERTIES = (
    "email",
    "name",
    "username",
    "plan",
    "company",
    "role",
    "$initial_referring_domain",
    "$geoip_country_name",
)
"""The most useful properties of a person, in order."""


class ListPersons(Paged):
    aliases: ClassVar[Mapping[str, str]] = {**PAGING_ALIASES, **dict.fromkeys(("userid", "user"), "distinct_id")}
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
    cohort_id: Annotated[str, from_link(COHORTS), require_number(LIST_COHORTS)] = Field(
        description="Its number, or a link to it.", examples=["41"]
    )
    full: Full = False


class Person(PostHogObject):
    heading_fields: ClassVar[tuple[str, ...]] = ("id", "name", "uuid")
    separate_fields: ClassVar[tuple[str, ...]] = ("properties",)
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
    other_hint: ClassVar[str] = "`email` and `distinctId` match exactly."
    reader: ClassVar[str] = "posthog_get_person"
    name_field: ClassVar[str] = ""


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
    separate_fields: ClassVar[tuple[str, ...]] = ("description", "filters")
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
async def posthog_list_persons(api: PosthogApi, params: ListPersons) -> PersonPage:
    """Find persons (users) of a PostHog project by part of their email address, name or ID, or list them.

    Returns id, name, distinct IDs, the most useful properties, when they were last seen, and link.
    `posthog_get_person` reads all properties of a person; `posthog_list_events` with `personId` reads their events. To
    count persons or find them by a property, use `posthog_query` on the table persons.
    """
    query = {"search": params.search, "email": params.email, "distinct_id": params.distinct_id}

    def parse(project: Project, item: Json) -> Person:
        return _person(project, item, full_object(item, full=params.full), is_shortened=True)

    return await list_objects(api, params, PERSONS, query, PersonPage, parse)


@tool("Read a person")
async def posthog_get_person(api: PosthogApi, params: GetPerson) -> PersonDetails:
    """Read one person with all their properties: by UUID, number, email address, distinct ID or link.

    Returns name, distinct IDs, every property, when they were first and last seen, and link. `posthog_list_events` with
    `personId` reads their events. `full: true` returns PostHog's complete object.
    """
    project = await api.project(params.project_id)
    item = await _find_person(api, project, params.person_id)
    person = _person(project, item, full_object(item, full=params.full, is_alone=True), is_shortened=False)
    return PersonDetails(project_id=project.id, person=person, notes=cut_notes(person))


@tool("List cohorts")
async def posthog_list_cohorts(api: PosthogApi, params: Searched) -> CohortPage:
    """List the cohorts (groups of persons) of a PostHog project; `search` matches names and tolerates typos.

    Returns id, name, description, number of persons, whether it is static, when it was last computed, and link.
    `posthog_get_cohort` reads its rules. To list its persons, use `posthog_query` with
    `SELECT id FROM persons WHERE id IN COHORT 41`.
    """

    def parse(project: Project, item: Json) -> Cohort:
        return read(Cohort, item, url=_cohort_link(project, item), full=full_object(item, full=params.full))

    return await list_objects(api, params, COHORTS, {"search": params.search}, CohortPage, parse)


@tool("Read a cohort")
async def posthog_get_cohort(api: PosthogApi, params: GetCohort) -> CohortDetails:
    """Read one cohort by its number or link: the number of its persons, and its rules.

    Returns description, count, rules (`filters`, in PostHog's own form), when it was last computed, errors of that
    computation, and link.
    """
    project = await api.project(params.project_id)
    item = await read_object(api, project, COHORTS, params.cohort_id, "cohort", LIST_COHORTS)
    filters, _ = fit(item.get("filters"), ROOM_OF_FILTERS)
    more = {
        "filters": filters if isinstance(filters, dict) else None,
        "full": full_object(item, full=params.full, is_alone=True),
    }
    cohort = read(WholeCohort, item, url=_cohort_link(project, item), **more)
    return CohortDetails(project_id=project.id, cohort=cohort, notes=cut_notes(cohort))


async def require_person(api: PosthogApi, project: Project, uuid: str) -> None:
    """Raise an error if the person does not exist."""
    try:
        await read_object(api, project, PERSONS, uuid, WHAT, LIST_PERSONS)
    except ObjectNotFound:
        raise
    except ToolFailed:  # unknown, and the result is complete without it
        return


async def find_person_uuid(api: PosthogApi, project: Project, person_id: str) -> str:
    """The UUID of the person with this number, email address or distinct ID."""
    try:
        item = await _find_person(api, project, person_id)
    except ToolFailed as failed:
        if "`person:read`" not in failed.text:
            raise
        raise failed.with_text(f"{failed.text} {WITHOUT_SCOPE}") from failed
    return str(item.get("uuid") or item.get("id"))


async def _find_person(api: PosthogApi, project: Project, person_id: str) -> Json:
    """Find a person; a UUID or number may also be a distinct ID, which apps can choose freely."""
    if is_uuid(person_id) or is_number(person_id):
        with suppress(ObjectNotFound):
            return await read_object(api, project, PERSONS, person_id, WHAT, LIST_PERSONS)
    for name in ("email", "distinct_id") if "@" in person_id else ("distinct_id",):
        if item := await first_match(api, project, PERSONS, {name: person_id}):
            return item
    raise ObjectNotFound("upstream_refused", NO_SUCH_PERSON.format(project=project.id, id=person_id))


def _person(project: Project, item: Json, full: Json | None, *, is_shortened: bool) -> Person:
    properties = item.get("properties") if isinstance(item.get("properties"), dict) else {}
    ids = [str(distinct_id) for distinct_id in item.get("distinct_ids") or []]
    shown = _select_properties(properties or {}) if is_shortened else properties
    shown_properties, _ = fit(shown, ROOM_OF_PROPERTIES if is_shortened else 40_000)
    more = [f"and {len(ids) - MOST_IDS} more"] if is_shortened and len(ids) > MOST_IDS else []
    return read(
        Person,
        item,
        url=project.link(f"persons/{item.get('uuid') or item.get('id')}"),
        distinct_ids=ids[:MOST_IDS] + more if is_shortened else ids[:200],
        properties=shown_properties if isinstance(shown_properties, dict) else {},
        full=full,
    )


def _select_properties(properties: Json) -> Json:
    first = {name: properties[name] for name in KEY_PROPERTIES if properties.get(name) not in (None, "")}
    rest = {name: value for name, value in properties.items() if not name.startswith("$") and name not in first}
    return dict([*first.items(), *rest.items()][:MOST_PROPERTIES])


def _cohort_link(project: Project, item: Json) -> str:
    return project.link(f"{COHORTS}/{item.get('id')}")
