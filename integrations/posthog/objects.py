"""How are PostHog's objects listed and read, of whatever kind they are?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from integrations.api import ToolFailed
from integrations.posthog.api import NOT_THERE, PosthogApi, Project
from integrations.posthog.asking import Paged
from integrations.posthog.results import Answer, Item, Page, Part, fitted, fitting
from integrations.tool import Json

OTHERWISE = "PostHog answered otherwise than its API promises. Try again later."
ROOM_ALONE, ROOM_IN_A_LIST = 30_000, 6_000
ENDED_EARLY = "Fewer than were asked for, to stay readable."
NONE_SUCH = "Project {project} has no {what} {id}. {tool} finds them."

P = TypeVar("P", bound=Page[Any])
S = TypeVar("S", bound=Part)
Made = Callable[[Project, Json], Item]


async def listed(api: PosthogApi, ask: Paged, place: str, query: Mapping[str, object], page: type[P], made: Made) -> P:
    """`place`: the end of its path, such as `feature_flags`."""
    project = await api.project(ask.project_id)
    found = await api.page(project.path(place), query, ask.limit, ask.offset)
    items = [made(project, each) for each in found.items]
    kept = fitting(items)
    is_cut = kept < len(items)
    following = ask.offset + kept if is_cut else found.next
    return page.model_validate(
        {
            "project_id": project.id,
            "results": items[:kept],
            "total": found.total,
            "next_cursor": None if following is None else str(following),
            "notes": [ENDED_EARLY] if is_cut else [],
        }
    )


async def one(api: PosthogApi, project: Project, place: str, id: str, what: str, tool: str) -> Json:  # noqa: A002
    """`tool` lists them."""
    try:
        found: Json = await api.get(project.path(place, id))
    except ToolFailed as failed:
        if failed.text != NOT_THERE:
            raise
        raise none_such(project, what, id, tool) from failed
    return found


def none_such(project: Project, what: str, id: str, tool: str) -> ToolFailed:  # noqa: A002
    told = NONE_SUCH.format(project=project.id, what=what, id=id, tool=tool)
    return ToolFailed("upstream_refused", told)


def read(kind: type[S], found: Json, /, **more: object) -> S:
    """`more`: what PostHog does not say in so many words."""
    try:
        return kind.model_validate({**found, **more})
    except ValidationError as error:
        raise ToolFailed("upstream_unavailable", OTHERWISE) from error


def whole(found: Json, *, full: bool, alone: bool = False) -> Json | None:
    """`alone`: there is no other in the answer."""
    if not full:
        return None
    cut, _ = fitted(found, ROOM_ALONE if alone else ROOM_IN_A_LIST)
    return cut if isinstance(cut, dict) else {"beginning": cut}


class Details(Answer):
    """Of one object."""

    def item(self) -> Item:
        raise NotImplementedError

    def text(self) -> str:
        return "\n\n".join([f"In project {self.project_id}:", self.item().text(), *self.notes])
