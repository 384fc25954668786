"""The valid tools of a server's `tools/list`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from integrations.errors import UnreadableResponse
from integrations.json_object import Json
from integrations.mcp import jsonrpc
from integrations.mcp.header_mirroring import BadAnnotation, annotated_paths

MAX_PAGES = 100
MAX_TOOLS = 5000
MAX_BYTES = 4 * 1024 * 1024
"""The limit for all pages together, equal to that of one response."""
TIMES_IN_MEMORY = 4
LONGEST_NAME = 1024
PIECE_SECONDS = 0.004
"""Then other tasks run."""
LONGEST_TTL_MS = 24 * 3600 * 1000

ListPage = Callable[[Mapping[str, Any] | None], Awaitable[Json]]
Scope = Literal["public", "private"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ListedTools:
    """The tools of a server, with the lifetime and the scope that it states for caching."""

    tools: tuple[Json, ...] = ()
    ttl_ms: int | None = None
    scope: Scope = "private"
    left_out: int = 0


async def listed(list_page: ListPage, *, with_headers: bool) -> ListedTools:
    """The tools of all pages. `with_headers`: leave out tools with invalid annotations of headers."""
    pages = await _pages(list_page)
    entries = [entry for page in pages for entry in page["tools"]]
    if len(entries) > MAX_TOOLS:
        raise UnreadableResponse(f"The list has more than {MAX_TOOLS} tools.")
    kept = tuple([entry async for entry in _usable(entries, with_headers=with_headers)])
    hints = [ttl for page in pages if (ttl := _ttl(page.get("ttlMs"))) is not None]
    is_public = all(page.get("cacheScope") == "public" for page in pages)
    return ListedTools(kept, min(hints, default=None), "public" if is_public else "private", len(entries) - len(kept))


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


async def _usable(entries: Sequence[Any], *, with_headers: bool) -> AsyncIterator[Json]:
    began = time.monotonic()
    for entry in entries:
        if _is_usable(entry, with_headers=with_headers):
            yield entry
        if time.monotonic() - began > PIECE_SECONDS:
            await asyncio.sleep(0)
            began = time.monotonic()


def _is_usable(entry: object, *, with_headers: bool) -> bool:
    match entry:
        case {"name": str(name), **rest} if 0 < len(name) <= LONGEST_NAME:
            return not with_headers or _has_good_annotations(name, rest.get("inputSchema"))
        case _:
            log.warning("an upstream tool has no name or a name that is too long; it is left out")
            return False


def _has_good_annotations(name: str, schema: object) -> bool:
    try:
        annotated_paths(schema)
    except BadAnnotation as error:
        log.warning("the upstream tool %r is left out: %s", name[:128], error)
        return False
    return True


def _ttl(hint: object) -> int | None:
    if isinstance(hint, bool) or not isinstance(hint, int | float):
        return None
    return int(min(max(hint, 0), LONGEST_TTL_MS))
