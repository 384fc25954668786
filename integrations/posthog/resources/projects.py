"""The tools for projects and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from integrations.json_object import Json
from integrations.paging import paging_aliases
from integrations.posthog.client import KEY, ME, NOT_FOUND, PosthogApi, Project, default_project, project_limits
from integrations.posthog.objects import Details, cut_notes, full_object, read
from integrations.posthog.params import Full, InProject
from integrations.posthog.results import Line, Part, PostHogObject, Unusual, fitting
from integrations.service_client import ToolFailed
from integrations.tool import Params, Result, tool

MOST_ORGANIZATIONS, MOST_PROJECTS, MAX_READ = 20, 100, 1_000
OBJECT_NOT_FOUND = (
    "There is no project {} that this key may read. `posthog_list_projects` lists the projects that it may read."
)
UNREADABLE_PROJECT = "Project {} cannot be read: it was deleted, or the key's owner has left it."
NAMES_UNKNOWN = "Only the numbers of the key's projects are known. {}"
ONLY_CURRENT = "Only the current project is listed; the list of projects could not be read. {}"
NO_CURRENT_LISTED = "None of them is the current project: give `projectId` in each call."


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
    separate_fields: ClassVar[tuple[str, ...]] = ()
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

    def with_organization_name(self, item: Json) -> Json:
        """The project with the name of its organization instead of the id."""
        names = {organization.get("id"): organization.get("name") for organization in self.organizations}
        organization_id = item.get("organization")
        return {**item, "organization": names.get(organization_id, organization_id)}


@tool("List projects")
async def posthog_list_projects(api: PosthogApi, params: ListProjects) -> Projects:
    """List the PostHog projects that the key may read.

    Use it first if there may be several projects: the number of a project is the `projectId` of all other tools, which
    read the current project by default. Returns number, name, organization, time zone, whether it is the current
    project, and link. All projects are returned at once, at most 100; `search` matches part of the name.
    """
    key, me = await api.get(KEY), await api.get(ME)
    owner, project_ids = read(Owner, me), project_limits(key)
    if project_ids:
        items, notes = await _load_each(api, owner, project_ids[:MOST_PROJECTS])
    else:
        items, notes = await _load_all(api, owner, key.get("scoped_organizations"))
    current = default_project(project_ids, me)
    projects = [read(ProjectItem, item, url=_link(api, item), is_current=str(item["id"]) == current) for item in items]
    matches = [project for project in projects if (params.search or "").lower() in (project.name or "").lower()]
    kept = min(fitting(matches), params.limit)
    if kept < len(matches):
        notes.append(f"These are the first {kept} of {len(matches)}: use `search` to find others.")
    return Projects(projects=matches[:kept], notes=[*notes, *([] if current else [NO_CURRENT_LISTED])])


@tool("Read a project")
async def posthog_get_project(api: PosthogApi, params: GetProject) -> ProjectDetails:
    """Read the settings of one PostHog project; by default the key's own project.

    Returns name, organization, time zone (in which PostHog counts days), whether it has received events, the public
    token with which its apps send events, the addresses of its apps, and the filters that exclude internal users.
    `full: true` returns all settings in PostHog's own form.
    """
    project = await api.project(params.project_id)
    project_json = await _load_project(api, project)
    settings = read(Owner, await api.get(ME)).with_organization_name(project_json)
    item = read(
        ProjectSettings, settings, url=project.link(), full=full_object(project_json, full=params.full, is_alone=True)
    )
    return ProjectDetails(project_id=project.id, project=item, notes=cut_notes(item))


async def _load_each(api: PosthogApi, owner: Owner, project_ids: list[str]) -> tuple[list[Json], list[str]]:
    """Read each project, since a limited key cannot list them; a note reports one that cannot be read."""
    projects, notes = list[Json](), list[str]()
    for project_id in project_ids:
        try:
            projects.append(owner.with_organization_name(await _load_project(api, Project(project_id, api.base_url))))
        except ToolFailed as failed:
            if failed.kind != "upstream_refused":
                raise
            if "lacks" in failed.text:
                return [{"id": project_id} for project_id in project_ids], [NAMES_UNKNOWN.format(failed.text)]
            notes.append(UNREADABLE_PROJECT.format(project_id))
    return projects, notes


async def _load_all(api: PosthogApi, owner: Owner, organization_ids: list[str] | None) -> tuple[list[Json], list[str]]:
    """All projects of the owner's organizations, or of those that the key is limited to."""
    projects = list[Json]()
    try:
        for organization in owner.organizations[:MOST_ORGANIZATIONS]:
            if not organization_ids or organization.get("id") in organization_ids:
                projects += await _load_organization(api, organization, MAX_READ - len(projects))
    except ToolFailed as failed:
        if failed.kind != "upstream_refused" or not owner.team:
            raise
        return [owner.with_organization_name(owner.team)], [ONLY_CURRENT.format(failed.text)]
    return projects, []


async def _load_organization(api: PosthogApi, organization: Mapping[str, object], most: int) -> list[Json]:
    item = list[Json]()
    offset: int | None = 0
    while offset is not None and len(item) < most:
        page = await api.page(f"/api/organizations/{organization.get('id')}/projects/", {}, MOST_PROJECTS, offset)
        item += [{**item, "organization": organization.get("name")} for item in page.items]
        offset = page.next
    return item


async def _load_project(api: PosthogApi, project: Project) -> Json:
    try:
        item: Json = await api.get(project.path())
    except ToolFailed as failed:
        if failed.text != NOT_FOUND:
            raise
        raise ToolFailed("upstream_refused", OBJECT_NOT_FOUND.format(project.id)) from failed
    return item


def _link(api: PosthogApi, item: Json) -> str:
    return Project(str(item.get("id")), api.base_url).link()
