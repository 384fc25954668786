"""The tools for projects: which there are, and what each is like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from integrations.json_object import Json
from integrations.paging import paging_aliases
from integrations.posthog.client import KEY, ME, NOT_THERE, PosthogApi, Project, limits_of, own_of
from integrations.posthog.objects import Details, cuts, read, whole
from integrations.posthog.params import Full, InProject
from integrations.posthog.results import Line, Part, PostHogObject, Unusual, fitting
from integrations.service_client import ToolFailed
from integrations.tool import Params, Result, tool

MOST_ORGANIZATIONS, MOST_PROJECTS, MOST_LOOKED_AT = 20, 100, 1_000
NONE_SUCH = "There is no project {} that this key may read. `posthog_list_projects` lists those it may."
CANNOT_BE_READ = "Project {} cannot be read: it was deleted, or the key's owner has left it."
NAMES_UNKNOWN = "Of the key's projects only the numbers are known. {}"
ONE_ALONE = "This is the current project alone; the list could not be read. {}"
NONE_CURRENT = "None of them is current: each call has to say `projectId`."


class ListProjects(Params):
    aliases: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("query", "q", "name"), "search"),
        **paging_aliases(size="limit"),
    }
    search: str | None = Field(default=None, max_length=200, description="Only those whose name has this.")
    limit: int = Field(default=MOST_PROJECTS, ge=1, le=MOST_PROJECTS, description="How many at most.")


class GetProject(InProject):
    aliases: ClassVar[Mapping[str, str]] = {**InProject.aliases, "id": "project_id"}
    full: Full = False


class ProjectItem(PostHogObject):
    apart: ClassVar[tuple[str, ...]] = ()
    name: Line = None
    organization: Line = None
    is_current: bool | None = Field(default=None, description="Tools read this one where no project is given.")
    timezone: str | None = None
    created_at: str | None = None


class ProjectSettings(ProjectItem):
    is_demo: Unusual = None
    ingested_event: bool | None = Field(default=None, description="It has received events at some time.")
    api_token: str | None = Field(
        default=None, description="What its apps send events with. It is public and reads nothing."
    )
    app_urls: list[str] | None = None
    test_account_filters: list[Json] | None = Field(default=None, description="Who counts as internal.")
    session_recording_opt_in: bool | None = Field(default=None, description="It records sessions.")


class Projects(Result):
    projects: list[ProjectItem]
    notes: list[str] = Field(default=[])

    def text(self) -> str:
        head = f"{len(self.projects)} project{'' if len(self.projects) == 1 else 's'}:"
        none = "No project that this key may read has such a name."
        return "\n\n".join([head if self.projects else none, *self.notes, *(each.text() for each in self.projects)])


class ProjectDetails(Details):
    project: ProjectSettings

    def item(self) -> PostHogObject:
        return self.project


class Owner(Part):
    """The person whose key it is."""

    team: Json | None = None
    organizations: list[dict[str, object]] = Field(default=[])

    def named(self, found: Json) -> Json:
        """With its organization's name, where PostHog gives its number."""
        names = {each.get("id"): each.get("name") for each in self.organizations}
        given = found.get("organization")
        return {**found, "organization": names.get(given, given)}


@tool("List projects")
async def posthog_list_projects(api: PosthogApi, ask: ListProjects) -> Projects:
    """List the PostHog projects that the key may read.

    Use it first where there may be several: the number of a project is the `projectId` of all other tools, which read
    the current project if they are given none. Comes back: number, name, organization, time zone, whether it is the
    current one, link. All of them at once, 100 at most; `search` looks for a part of the name.
    """
    key, me = await api.get(KEY), await api.get(ME)
    owner, limited_to = read(Owner, me), limits_of(key)
    if limited_to:
        raw, notes = await _each(api, owner, limited_to[:MOST_PROJECTS])
    else:
        raw, notes = await _all(api, owner, key.get("scoped_organizations"))
    own = own_of(limited_to, me)
    told = [read(ProjectItem, each, url=_link(api, each), is_current=str(each["id"]) == own) for each in raw]
    wanted = [each for each in told if (ask.search or "").lower() in (each.name or "").lower()]
    kept = min(fitting(wanted), ask.limit)
    if kept < len(wanted):
        notes.append(f"These are the first {kept} of {len(wanted)}: `search` finds others.")
    return Projects(projects=wanted[:kept], notes=[*notes, *([] if own else [NONE_CURRENT])])


@tool("Read a project")
async def posthog_get_project(api: PosthogApi, ask: GetProject) -> ProjectDetails:
    """Read the settings of one PostHog project, the key's own where no `projectId` is given.

    Comes back: name, organization, time zone (in which PostHog counts days), whether events have come in, the public
    token with which its apps send events, the addresses where it runs, and the filters by which internal users are
    left out. `full: true` gives all settings as PostHog has them.
    """
    project = await api.project(ask.project_id)
    found = await _one(api, project)
    named = read(Owner, await api.get(ME)).named(found)
    item = read(ProjectSettings, named, url=project.link(), full=whole(found, full=ask.full, alone=True))
    return ProjectDetails(project_id=project.id, project=item, notes=cuts(item))


async def _each(api: PosthogApi, owner: Owner, numbers: list[str]) -> tuple[list[Json], list[str]]:
    """A key that is limited to projects may not list any. One that cannot be read hides none of the others."""
    found, notes = list[Json](), list[str]()
    for number in numbers:
        try:
            found.append(owner.named(await _one(api, Project(number, api.base_url))))
        except ToolFailed as failed:
            if failed.kind != "upstream_refused":
                raise
            if "lacks" in failed.text:
                return [{"id": each} for each in numbers], [NAMES_UNKNOWN.format(failed.text)]
            notes.append(CANNOT_BE_READ.format(number))
    return found, notes


async def _all(api: PosthogApi, owner: Owner, limited_to: list[str] | None) -> tuple[list[Json], list[str]]:
    """Of the organizations that the owner is in, or those that the key is limited to."""
    found = list[Json]()
    try:
        for organization in owner.organizations[:MOST_ORGANIZATIONS]:
            if not limited_to or organization.get("id") in limited_to:
                found += await _of_one(api, organization, MOST_LOOKED_AT - len(found))
    except ToolFailed as failed:
        if failed.kind != "upstream_refused" or not owner.team:
            raise
        return [owner.named(owner.team)], [ONE_ALONE.format(failed.text)]
    return found, []


async def _of_one(api: PosthogApi, organization: Mapping[str, object], most: int) -> list[Json]:
    found = list[Json]()
    offset: int | None = 0
    while offset is not None and len(found) < most:
        page = await api.page(f"/api/organizations/{organization.get('id')}/projects/", {}, MOST_PROJECTS, offset)
        found += [{**each, "organization": organization.get("name")} for each in page.items]
        offset = page.next
    return found


async def _one(api: PosthogApi, project: Project) -> Json:
    try:
        found: Json = await api.get(project.path())
    except ToolFailed as failed:
        if failed.text != NOT_THERE:
            raise
        raise ToolFailed("upstream_refused", NONE_SUCH.format(project.id)) from failed
    return found


def _link(api: PosthogApi, found: Json) -> str:
    return Project(str(found.get("id")), api.base_url).link()
