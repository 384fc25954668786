"""The tools for projects: which there are, and what each is like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from integrations.api import ToolFailed
from integrations.posthog.api import KEY, ME, PosthogApi, Project
from integrations.posthog.asking import Full, InProject
from integrations.posthog.objects import Details, read, whole
from integrations.posthog.results import Item, Line, Part, fitting
from integrations.tool import Json, Params, Result, tool

MOST_ORGANIZATIONS, MOST_PROJECTS, MOST_LOOKED_AT = 20, 100, 1_000


class ListProjects(Params):
    also: ClassVar[Mapping[str, str]] = dict.fromkeys(("query", "q", "name"), "search")
    search: str | None = Field(default=None, max_length=200, description="Only those whose name has this.")


class GetProject(InProject):
    also: ClassVar[Mapping[str, str]] = {**InProject.also, "id": "project_id"}
    full: Full = False


class ProjectItem(Item):
    apart: ClassVar[tuple[str, ...]] = ()
    name: Line = None
    organization: Line = None
    is_current: bool | None = Field(default=None, description="Tools read this one where no project is given.")
    timezone: str | None = None
    created_at: str | None = None


class Settings(ProjectItem):
    is_demo: bool | None = None
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
    project: Settings

    def item(self) -> Item:
        return self.project


class Owner(Part):
    """The person whose key it is."""

    team: Json | None = None
    organization: dict[str, object] | None = None
    organizations: list[dict[str, object]] = Field(default=[])


@tool("List projects")
async def posthog_list_projects(api: PosthogApi, ask: ListProjects) -> Projects:
    """List the PostHog projects that the key may read.

    Use it first where there may be several: the number of a project is the `projectId` of all other tools, which read
    the current project if they are given none. Comes back: number, name, organization, time zone, whether it is the
    current one, link. All of them at once, 100 at most; `search` looks for a part of the name.
    """
    key = await api.get(KEY)
    limited_to = [str(each) for each in key.get("scoped_teams") or []][:MOST_PROJECTS]
    owner = read(Owner, await api.get(ME))
    current = str((owner.team or {}).get("id"))
    notes = list[str]()
    try:
        raw = await _each(api, limited_to) if limited_to else await _of_all(api, owner, key.get("scoped_organizations"))
    except ToolFailed as failed:
        if failed.kind != "upstream_refused" or not owner.team:
            raise
        raw, notes = [owner.team], [f"This is the current project alone; the list could not be read. {failed.text}"]
    told = [read(ProjectItem, each, url=_link(api, each), is_current=str(each["id"]) == current) for each in raw]
    wanted = [each for each in told if (ask.search or "").lower() in (each.name or "").lower()]
    kept = min(fitting(wanted), MOST_PROJECTS)
    if kept < len(wanted):
        notes.append(f"These are the first {kept} of {len(wanted)}: `search` finds others.")
    return Projects(projects=wanted[:kept], notes=notes)


@tool("Read a project")
async def posthog_get_project(api: PosthogApi, ask: GetProject) -> ProjectDetails:
    """Read the settings of one PostHog project, the key's own where no `projectId` is given.

    Comes back: name, organization, time zone (in which PostHog counts days), whether events have come in, the public
    token with which its apps send events, the addresses where it runs, and the filters by which internal users are
    left out. `full: true` gives all settings as PostHog has them.
    """
    project = await api.project(ask.project_id)
    found = await _one(api, project)
    item = read(Settings, found, url=project.link(), full=whole(found, full=ask.full, alone=True))
    return ProjectDetails(project_id=project.id, project=item)


async def _each(api: PosthogApi, numbers: list[str]) -> list[Json]:
    """A key that is limited to projects may not list any."""
    return [await _one(api, await api.project(each)) for each in numbers]


async def _of_all(api: PosthogApi, owner: Owner, limited_to: list[str] | None) -> list[Json]:
    """Of the organizations that the owner is in, or those that the key is limited to."""
    found = list[Json]()
    for organization in owner.organizations[:MOST_ORGANIZATIONS]:
        if limited_to and organization.get("id") not in limited_to:
            continue
        offset: int | None = 0
        while offset is not None and len(found) < MOST_LOOKED_AT:
            page = await api.page(f"/api/organizations/{organization.get('id')}/projects/", {}, MOST_PROJECTS, offset)
            found += [{**each, "organization": organization.get("name")} for each in page.items]
            offset = page.next
    return found


async def _one(api: PosthogApi, project: Project) -> Json:
    try:
        found: Json = await api.get(project.path())
    except ToolFailed as failed:
        if failed.kind != "upstream_refused" or "nothing there" not in failed.text:
            raise
        told = f"There is no project {project.id} that this key may read. posthog_list_projects tells those it may."
        raise ToolFailed("upstream_refused", told) from failed
    return {**found, "organization": None}


def _link(api: PosthogApi, found: Json) -> str:
    return Project(str(found.get("id")), api.base_url).link()
