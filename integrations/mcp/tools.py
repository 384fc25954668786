"""The valid tools of a server's `tools/list`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from integrations.errors import UnreadableResponse
from integrations.json_object import Json
from integrations.mcp import jsonrpc
from integrations.mcp.header_mirroring import BadAnnotation, Paths, annotated_paths

MAX_PAGES = 100
MAX_TOOLS = 5000
MAX_BYTES = 4 * 1024 * 1024
"""The limit for all pages together, equal to that of one response."""
TIMES_IN_MEMORY = 4
LONGEST_NAME = 1024
LONGEST_TOOL = 500_000
"""In bytes."""
PIECE_SECONDS = 0.004
"""Then other tasks run."""
LONGEST_TTL_MS = 24 * 3600 * 1000

ListPage = Callable[[Mapping[str, Any] | None], Awaitable[Json]]
NextTurn = Callable[[], Awaitable[None]]
"""To be awaited between pieces of work, so that other tasks run."""
Scope = Literal["public", "private"]


@dataclass(frozen=True)
class ListedTools:
    """The tools of a server, with the lifetime and the scope that it states for caching."""

    tools: tuple[Json, ...] = ()
    ttl_ms: int | None = None
    scope: Scope = "private"
    reasons: Mapping[str, int] = field(default_factory=dict)
    """How many tools are left out, by the reason."""
    paths: Mapping[str, Paths] = field(default_factory=dict, repr=False)
    """By tool, the arguments that its server wants in headers too."""

    @property
    def left_out(self) -> int:
        return sum(self.reasons.values())


async def listed(list_page: ListPage, next_turn: NextTurn, *, with_headers: bool) -> ListedTools:
    """The tools of all pages. `with_headers`: leave out tools with invalid annotations of headers."""
    pages = await _pages(list_page)
    entries = [entry for page in pages for entry in page["tools"]]
    if len(entries) > MAX_TOOLS:
        raise UnreadableResponse(f"The list has more than {MAX_TOOLS} tools.")
    selection = await _selected(entries, next_turn, with_headers=with_headers)
    hints = [ttl for page in pages if (ttl := _ttl(page.get("ttlMs"))) is not None]
    is_public = all(page.get("cacheScope") == "public" for page in pages)
    return ListedTools(
        tuple(selection.kept),
        min(hints, default=None),
        "public" if is_public else "private",
        selection.reasons,
        selection.paths,
    )


async def _pages(list_page: ListPage) -> list[Json]:
    pages = [await _page(list_page, None)]
    seen, room = set[str](), MAX_BYTES
    while isinstance(cursor := pages[-1].get("nextCursor"), str):
        room -= _size(pages[-1])
        if cursor in seen or len(pages) >= MAX_PAGES or room <= 0:
            raise UnreadableResponse("The list of tools does not end.")
        seen.add(cursor)
        pages.append(await _page(list_page, {"cursor": cursor}))
    return pages


def _size(page: Json) -> int:
    encoded = msgspec.json.encode(page["tools"])
    return max(len(encoded), jsonrpc.weight(encoded) // TIMES_IN_MEMORY)


async def _page(list_page: ListPage, params: Mapping[str, Any] | None) -> Json:
    page = await list_page(params)
    if not isinstance(page.get("tools"), list):
        raise UnreadableResponse("The tools are not a list.")
    return page


@dataclass
class _Selection:
    """The tools that are kept of a list, and why others are not. The reasons are ours: what an upstream writes may
    repeat its credential."""

    kept: list[Json] = field(default_factory=list)
    paths: dict[str, Paths] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)

    def take(self, entry: object, *, with_headers: bool) -> None:
        match entry:
            case {"name": str(name), **rest} if 0 < len(name) <= LONGEST_NAME:
                objection = self._mirror(name, entry, rest.get("inputSchema")) if with_headers else None
            case _:
                objection = "it has no name, or one that is too long"
        if objection:
            self.reasons[objection] += 1
        else:
            self.kept.append(cast(Json, entry))

    def _mirror(self, name: str, entry: object, schema: object) -> str | None:
        """Why the tool is not usable; None if it is."""
        try:
            if len(msgspec.json.encode(entry)) > LONGEST_TOOL:
                return "it is too large"
            if paths := annotated_paths(schema):
                self.paths[name] = paths
        except RecursionError:
            return "it is nested too deeply"
        except BadAnnotation as error:
            return str(error)
        return None


async def _selected(entries: Sequence[Any], next_turn: NextTurn, *, with_headers: bool) -> _Selection:
    selection, began = _Selection(), time.monotonic()
    for entry in entries:
        selection.take(entry, with_headers=with_headers)
        if time.monotonic() - began > PIECE_SECONDS:
            await next_turn()
            began = time.monotonic()
    return selection


def _ttl(hint: object) -> int | None:
    if isinstance(hint, bool) or not isinstance(hint, int | float):
        return None
    return int(min(max(hint, 0), LONGEST_TTL_MS))
