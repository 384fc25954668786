"""The tools for projects and their settings."""

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
NONE_SUCH = (
    "There is no project {} that this key may read. `posthog_list_projects` lists the projects that it may read."
)
CANNOT_BE_READ = "Project {} cannot be read: it was deleted, or the key's owner has left it."
NAMES_UNKNOWN = "Only the numbers of the key's projects are known. {}"
ONE_ALONE = "Only the current project is listed; the list of projects could not be read. {}"
NONE_CURRENT = "None of them is the current project: give `projectId` in each call."


class ListProjects(Params):
    aliases: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("query", "q", "name"), "search"),
        **paging_aliases(size="limit"),
    }
    search: str | None = Field(default=None, max_length=200, description="Only those whose name contains this.")
    limit: int = Field(default=MOST_PROJECTS, ge=1, le=MOST_PROJECTS, description="The maximum number of results.")


class GetProject(InProject):
    aliases: ClassVar[Mapping[str, str]] = {**InProject.aliases, "id": "project_id"}
    full: Full = False


class ProjectItem(PostHogObject):
    apart: ClassVar[tuple[str, ...]] = ()
    name: Line = None
    organization: Line = None
    is_current: bool | None = Field(
        default=None, description="True for the project that tools read if no project is given."
    )
    timezone: str | None = None
    created_at: str | None = None


class ProjectSettings(ProjectItem):
    is_demo: Unusual = None
    ingested_event: bool | None = Field(default=None, description="True if it has ever received events.")
    api_token: str | None = Field(
        default=None, description="The token with which its apps send events. It is public and reads nothing."
    )
    app_urls: list[str] | None = None
    test_account_filters: list[Json] | None = Field(
        default=None, description="The filters that identify internal users."
    )
    session_recording_opt_in: bool | None = Field(default=None, description="True if it records sessions.")


class Projects(Result):
    projects: list[ProjectItem]
    notes: list[str] = Field(default=[])

    def text(self) -> str:
        head = f"{len(self.projects)} project{'' if len(self.projects) == 1 else 's'}:"
        none = "No project that this key may read has this in its name."
        return "\n\n".join(
            [head if self.projects else none, *self.notes, *(project.text() for project in self.projects)]
        )


class ProjectDetails(Details):
    project: ProjectSettings

    def item(self) -> PostHogObject:
        return self.project


class Owner(Part):
    """The owner of the key."""

    team: Json | None = None
    organizations: list[dict[str, object]] = Field(default=[])

    def named(self, found: Json) -> Json:
        """The project with the name of its organization instead of the id."""
        names = {organization.get("id"): organization.get("name") for organization in self.organizations}
        given = found.get("organization")
        return {**found, "organization": names.get(given, given)}


@tool("List projects")
async def posthog_list_projects(api: PosthogApi, ask: ListProjects) -> Projects:
    """List the PostHog projects that the key may read.

    Use it first if there may be several projects: the number of a project is the `projectId` of all other tools, which
    read the current project by default. Returns number, name, organization, time zone, whether it is the current
    project, and link. All projects are returned at once, at most 100; `search` matches part of the name.
    """
    key, me = await api.get(KEY), await api.get(ME)
    owner, limited_to = read(Owner, me), limits_of(key)
    if limited_to:
        raw, notes = await _each(api, owner, limited_to[:MOST_PROJECTS])
    else:
        raw, notes = await _all(api, owner, key.get("scoped_organizations"))
    own = own_of(limited_to, me)
    told = [read(ProjectItem, item, url=_link(api, item), is_current=str(item["id"]) == own) for item in raw]
    wanted = [project for project in told if (ask.search or "").lower() in (project.name or "").lower()]
    kept = min(fitting(wanted), ask.limit)
    if kept < len(wanted):
        notes.append(f"These are the first {kept} of {len(wanted)}: use `search` to find others.")
    return Projects(projects=wanted[:kept], notes=[*notes, *([] if own else [NONE_CURRENT])])


@tool("Read a project")
async def posthog_get_project(api: PosthogApi, ask: GetProject) -> ProjectDetails:
    """Read the settings of one PostHog project; by default the key's own project.

    Returns name, organization, time zone (in which PostHog counts days), whether it has received events, the public
    token with which its apps send events, the addresses of its apps, and the filters that exclude internal users.
    `full: true` returns all settings in PostHog's own form.
    """
    project = await api.project(ask.project_id)
    found = await _one(api, project)
    named = read(Owner, await api.get(ME)).named(found)
    item = read(ProjectSettings, named, url=project.link(), full=whole(found, full=ask.full, alone=True))
    return ProjectDetails(project_id=project.id, project=item, notes=cuts(item))


async def _each(api: PosthogApi, owner: Owner, numbers: list[str]) -> tuple[list[Json], list[str]]:
    """Read each project, since a limited key cannot list them; a note reports one that cannot be read."""
    found, notes = list[Json](), list[str]()
    for number in numbers:
        try:
            found.append(owner.named(await _one(api, Project(number, api.base_url))))
        except ToolFailed as failed:
            if failed.kind != "upstream_refused":
                raise
            if "lacks" in failed.text:
                return [{"id": number} for number in numbers], [NAMES_UNKNOWN.format(failed.text)]
            notes.append(CANNOT_BE_READ.format(number))
    return found, notes


async def _all(api: PosthogApi, owner: Owner, limited_to: list[str] | None) -> tuple[list[Json], list[str]]:
    """All projects of the owner's organizations, or of those that the key is limited to."""
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
        found += [{**item, "organization": organization.get("name")} for item in page.items]
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
