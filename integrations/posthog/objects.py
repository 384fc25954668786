"""Listing and reading PostHog's objects of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from integrations.json_object import Json
from integrations.posthog.client import IN_THE_APP, NOT_THERE, Found, PosthogApi, Project
from integrations.posthog.lookup import names_of
from integrations.posthog.params import Paged
from integrations.posthog.results import PAST_THE_END, Answer, Page, Part, PostHogObject, fitting
from integrations.posthog.truncation import fitted, is_cut
from integrations.service_client import ToolFailed, too_large_hint

OTHERWISE = "PostHog sent a response that its API does not document. Try again later."
ROOM_ALONE, ROOM_IN_A_LIST = 30_000, 6_000
ENDED_EARLY = "Fewer results than requested, to keep the response readable."
SIMILAR = "Nothing matches these words; the results are similar."
CUT_HERE = "Long texts are cut; each … says how much is missing. `full: true` returns more of each."
CUT_THERE = "Long texts are cut; each … says how much is missing. `{}` returns more of each."
NONE_SUCH = "Project {project} has no {what} {id}. `{tool}` finds them."

P = TypeVar("P", bound=Page[Any])
S = TypeVar("S", bound=Part)
Made = Callable[[Project, Json], PostHogObject]


async def first(api: PosthogApi, project: Project, place: str, query: Mapping[str, object]) -> Json | None:
    """The first object that matches the query."""
    found = await api.page(project.path(place), query, 1, 0, larger=IN_THE_APP)
    return found.items[0] if found.items else None


class NoneSuch(ToolFailed):
    """The project has no such object."""


async def listed(api: PosthogApi, ask: Paged, place: str, query: Mapping[str, object], page: type[P], made: Made) -> P:
    """A page of objects; `place` is the end of their path, such as `feature_flags`."""
    project = await api.project(ask.project_id)
    found = await api.page(project.path(place), query, ask.limit, ask.offset)
    items = [made(project, item) for item in found.items[: ask.limit]]
    kept = fitting(items)
    following = ask.offset + kept if kept < len(found.items) else found.next
    others = [] if items else await _others(api, project, ask, place, query, page)
    return page.model_validate(
        {
            "project_id": project.id,
            "results": items[:kept],
            "total": found.total,
            "next_cursor": None if following is None else str(following),
            "notes": [
                *_notes(ask, found, page),
                *others,
                *([ENDED_EARLY] if kept < len(items) else []),
                *_cuts(items, page),
            ],
        }
    )


async def _others(
    api: PosthogApi, project: Project, ask: Paged, place: str, query: Mapping[str, object], page: type[Page[Any]]
) -> list[str]:
    """A note with similar names, or with all names if they are few, when `search` matches nothing."""
    words = getattr(ask, "search", None)
    if not words or ask.offset or not page.named:
        return []
    try:
        told = (await names_of(api, project, place, {**query, "search": None}, page.named)).like(words)
    except ToolFailed:  # the result is complete without this note
        return []
    return [told] if told else []


async def one(
    api: PosthogApi,
    project: Project,
    place: str,
    id: str,  # noqa: A002
    what: str,
    tool: str,
) -> Json:
    """Read one object; errors name the `tool` that lists such objects."""
    try:
        with too_large_hint(IN_THE_APP):
            found: Json = await api.get(project.path(place, id))
    except ToolFailed as failed:
        if failed.text != NOT_THERE:
            raise
        raise none_such(project, what, id, tool) from failed
    return found


def none_such(project: Project, what: str, id: str, tool: str) -> NoneSuch:  # noqa: A002
    return NoneSuch("upstream_refused", NONE_SUCH.format(project=project.id, what=what, id=id, tool=tool))


def read(kind: type[S], found: Json, /, **more: object) -> S:
    """Parse an object; `more` are computed fields."""
    try:
        return kind.model_validate({**found, **more})
    except ValidationError as error:
        raise ToolFailed("upstream_unavailable", OTHERWISE) from error


def whole(found: Json, *, full: bool, alone: bool = False) -> Json | None:
    """The complete object, cut to the room it has; `alone` means that no other is in the result."""
    if not full:
        return None
    cut, _ = fitted(found, ROOM_ALONE if alone else ROOM_IN_A_LIST)
    return cut if isinstance(cut, dict) else {"beginning": cut}


def cuts(item: PostHogObject) -> list[str]:
    """A note if texts were cut and `full` can return more of them."""
    return [CUT_HERE] if item.full is None and is_cut(item.text()) else []


class Details(Answer):
    """The result for one object."""

    def item(self) -> PostHogObject:
        raise NotImplementedError

    def text(self) -> str:
        return "\n\n".join([f"In project {self.project_id}:", self.item().text(), *self.notes])


def _notes(ask: Paged, found: Found, page: type[Page[Any]]) -> Iterator[str]:
    """Notes on why nothing matches, or only similar objects."""
    words = str(getattr(ask, "search", None) or "").lower()
    if not found.items:
        if ask.offset:
            yield PAST_THE_END
            return
        besides = page.besides if ask.narrowed and page.unless not in ask.model_fields_set else ""
        yield from (hint for hint in (words and page.hint, besides) if hint)
    elif words and all(_is_similar(item, words) for item in found.items):
        yield SIMILAR


def _is_similar(found: Json, words: str) -> bool:
    """PostHog does not mark cohorts that match only with typos."""
    marked = found.get("search_match_type")
    cohort = "is_static" in found and words not in str(found.get("name")).lower()
    return marked == "similar" if marked else cohort


def _cuts(items: list[PostHogObject], page: type[Page[Any]]) -> list[str]:
    if not any(is_cut(item.text()) for item in items):
        return []
    if page.reader:
        return [CUT_THERE.format(page.reader)]
    return [CUT_HERE] if any(item.full is None for item in items) else []
