"""Listing and reading PostHog's objects of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from integrations.json_object import Json
from integrations.posthog.client import IN_THE_APP, NOT_FOUND, ApiPage, PosthogApi, Project
from integrations.posthog.lookup import load_names
from integrations.posthog.params import Paged
from integrations.posthog.results import PAST_THE_END, Answer, Page, Part, PostHogObject, fitting
from integrations.posthog.truncation import fit, is_cut
from integrations.service_client import ToolFailed, too_large_hint

UNDOCUMENTED = "PostHog sent a response that its API does not document. Try again later."
ROOM_ALONE, ROOM_IN_A_LIST = 30_000, 6_000
ENDED_EARLY = "Fewer results than requested, to keep the response readable."
SIMILAR = "Nothing matches these words; the results are similar."
CUT_HERE = "Long texts are cut; each … says how much is missing. `full: true` returns more of each."
CUT_THERE = "Long texts are cut; each … says how much is missing. `{}` returns more of each."
OBJECT_NOT_FOUND = "Project {project} has no {what} {id}. `{tool}` finds them."

P = TypeVar("P", bound=Page[Any])
S = TypeVar("S", bound=Part)
ParseObject = Callable[[Project, Json], PostHogObject]


async def first_match(api: PosthogApi, project: Project, place: str, query: Mapping[str, object]) -> Json | None:
    """The first object that matches the query."""
    page = await api.page(project.path(place), query, 1, 0, if_too_large=IN_THE_APP)
    return page.items[0] if page.items else None


class ObjectNotFound(ToolFailed):
    """The project has no such object."""


async def list_objects(
    api: PosthogApi, params: Paged, place: str, query: Mapping[str, object], page: type[P], parse: ParseObject
) -> P:
    """A page of objects; `place` is the end of their path, such as `feature_flags`."""
    project = await api.project(params.project_id)
    api_page = await api.page(project.path(place), query, params.limit, params.offset)
    items = [parse(project, item) for item in api_page.items[: params.limit]]
    count = fitting(items)
    next_offset = params.offset + count if count < len(api_page.items) else api_page.next
    suggestions = [] if items else await _suggestions(api, project, params, place, query, page)
    return page.model_validate(
        {
            "project_id": project.id,
            "results": items[:count],
            "total": api_page.total,
            "next_cursor": None if next_offset is None else str(next_offset),
            "notes": [
                *_notes(params, api_page, page),
                *suggestions,
                *([ENDED_EARLY] if count < len(items) else []),
                *_cut_notes(items, page),
            ],
        }
    )


async def _suggestions(
    api: PosthogApi, project: Project, params: Paged, place: str, query: Mapping[str, object], page: type[Page[Any]]
) -> list[str]:
    """A note with similar names, or with all names if they are few, when `search` matches nothing."""
    words = getattr(params, "search", None)
    if not words or params.offset or not page.name_field:
        return []
    try:
        suggestion = (await load_names(api, project, place, {**query, "search": None}, page.name_field)).suggestion(
            words
        )
    except ToolFailed:  # the result is complete without this note
        return []
    return [suggestion] if suggestion else []


async def read_object(
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
            response: Json = await api.get(project.path(place, id))
    except ToolFailed as failed:
        if failed.text != NOT_FOUND:
            raise
        raise object_not_found(project, what, id, tool) from failed
    return response


def object_not_found(project: Project, what: str, id: str, tool: str) -> ObjectNotFound:  # noqa: A002
    return ObjectNotFound("upstream_refused", OBJECT_NOT_FOUND.format(project=project.id, what=what, id=id, tool=tool))


def read(kind: type[S], value: Json, /, **computed: object) -> S:
    """Parse an object; `more` are computed fields."""
    try:
        return kind.model_validate({**value, **computed})
    except ValidationError as error:
        raise ToolFailed("upstream_unavailable", UNDOCUMENTED) from error


def full_object(value: Json, *, full: bool, is_alone: bool = False) -> Json | None:
    """The complete object, cut to the room it has; `alone` means that no other is in the result."""
    if not full:
        return None
    shortened, _ = fit(value, ROOM_ALONE if is_alone else ROOM_IN_A_LIST)
    return shortened if isinstance(shortened, dict) else {"beginning": shortened}


def cut_notes(item: PostHogObject) -> list[str]:
    """A note if texts were cut and `full` can return more of them."""
    return [CUT_HERE] if item.full is None and is_cut(item.text()) else []


class Details(Answer):
    """The result for one object."""

    def item(self) -> PostHogObject:
        raise NotImplementedError

    def text(self) -> str:
        return "\n\n".join([f"In project {self.project_id}:", self.item().text(), *self.notes])


def _notes(params: Paged, api_page: ApiPage, page: type[Page[Any]]) -> Iterator[str]:
    """Notes on why nothing matches, or only similar objects."""
    words = str(getattr(params, "search", None) or "").lower()
    if not api_page.items:
        if params.offset:
            yield PAST_THE_END
            return
        other_hint = (
            page.other_hint if params.is_narrowed and page.other_parameter not in params.model_fields_set else ""
        )
        yield from (hint for hint in (words and page.hint, other_hint) if hint)
    elif words and all(_is_similar(item, words) for item in api_page.items):
        yield SIMILAR


def _is_similar(item: Json, words: str) -> bool:
    """PostHog does not mark cohorts that match only with typos."""
    match_type = item.get("search_match_type")
    is_unmarked_cohort = "is_static" in item and words not in str(item.get("name")).lower()
    return match_type == "similar" if match_type else is_unmarked_cohort


def _cut_notes(items: list[PostHogObject], page: type[Page[Any]]) -> list[str]:
    if not any(is_cut(item.text()) for item in items):
        return []
    if page.reader:
        return [CUT_THERE.format(page.reader)]
    return [CUT_HERE] if any(item.full is None for item in items) else []
