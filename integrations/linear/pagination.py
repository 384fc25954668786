"""Pages of a list: as many items as a model can read, and a cursor for the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from integrations.json_object import Json
from integrations.linear.client import read
from integrations.linear.rendering import bound_node
from integrations.linear.results import LinearModel, ListItem, Number
from integrations.text import objects

MOST_BYTES, MOST_CHARACTERS = 150_000, 40_000
ROOM_OF_FULL, LEAST_OF_FULL = 30_000, 3_000
ENDED_EARLY = "Fewer {} than requested, to keep the result readable; `after` below continues with the rest."


class PageInfo(LinearModel):
    has_next_page: bool
    end_cursor: str | None = None


class Edge(LinearModel):
    cursor: str
    node: Json


class ItemConnection(LinearModel):
    edges: list[Edge]
    page_info: PageInfo
    total_count: Number = None


S = TypeVar("S", bound=ListItem)


@dataclass(frozen=True, slots=True)
class Page(Generic[S]):
    items: Sequence[S]
    next_cursor: str | None
    notes: tuple[str, ...] = ()
    total: int | None = None


def page(
    value: object,
    what: str,
    parse_node: Callable[[Json], S],
    notes: tuple[str, ...] = (),
    characters: int = MOST_CHARACTERS,
) -> Page[S]:
    """Parse a connection, and cut it to the size of one result."""
    connection = read(ItemConnection, value)
    items = [parse_node(edge.node) for edge in connection.edges]
    kept = _fitting_count(items, characters)
    info = connection.page_info
    total = None if connection.total_count is None else int(connection.total_count)
    if kept < len(items):
        return Page(items[:kept], connection.edges[kept - 1].cursor, (*notes, ENDED_EARLY.format(what)), total)
    return Page(items, info.end_cursor if info.has_next_page else None, notes, total)


def full_field(connection: object, is_wanted: bool) -> Callable[[Json], Mapping[str, object]]:
    """A function that builds `full` of a node; fewer nodes on a page have more room each."""
    edges = objects(connection.get("edges")) if isinstance(connection, dict) and is_wanted else []
    room = max(ROOM_OF_FULL // max(len(edges), 1), LEAST_OF_FULL)
    return lambda node: {"full": bound_node(node, room)} if is_wanted else {}


def item_parser(kind: type[S], changes: Callable[[Json], Mapping[str, object]]) -> Callable[[Json], S]:
    """A function that parses a node with additional fields of ours."""
    return lambda node: read(kind, {**node, **changes(node)})


def _fitting_count(items: Sequence[ListItem], characters: int) -> int:
    """The number of items that fit, at least one, since each item is bounded."""
    bytes_left, characters_left = MOST_BYTES, characters
    for index, item in enumerate(items):
        bytes_left -= len(item.model_dump_json(by_alias=True, exclude_none=True).encode())
        characters_left -= len(item.text())
        if index and (bytes_left < 0 or characters_left < 0):
            return index
    return len(items)
