"""Caches of agents' toolboxes and of their rendered tool lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from api.kit.lru import LruCache
from api.toolbox.agent_toolbox import Toolbox
from api.toolbox.listing.client_formats import Format
from api.toolbox.listing.tool_list import Source

MAX_TOOLBOXES = 10_000
MAX_LISTS = 2000
MAX_BYTES = 64_000_000


class ToolboxCache:
    """Toolboxes, each valid for one revision of its workspace."""

    def __init__(self, max_toolboxes: int = MAX_TOOLBOXES) -> None:
        self._entries: LruCache[tuple[str, str], tuple[int, Toolbox]] = LruCache(max_toolboxes)

    def get(self, workspace_id: str, agent_id: str, revision: int) -> Toolbox | None:
        entry = self._entries.get((workspace_id, agent_id))
        return entry[1] if entry and entry[0] == revision else None

    def put(self, toolbox: Toolbox, revision: int) -> None:
        self._entries.put((toolbox.workspace_id, toolbox.agent.id), (revision, toolbox))


class RenderedList(NamedTuple):
    toolbox: Toolbox
    sources: Sequence[Source]
    body: bytes
    list_version: int
    fresh_until: float


class RenderedListCache:
    """The bytes of lists, each valid as long as it would be rendered from the same objects."""

    def __init__(self, max_lists: int = MAX_LISTS, max_bytes: int = MAX_BYTES) -> None:
        self._entries: LruCache[tuple[str, str, Format], RenderedList] = LruCache(
            max_lists, max_bytes, lambda entry: len(entry.body)
        )

    def get_unchanged(self, toolbox: Toolbox, form: Format, list_version: int, now: float) -> bytes | None:
        """The bytes if no list in the process has changed, without comparing the sources."""
        entry = self._entries.get(_key(toolbox, form))
        if entry is None or entry.toolbox is not toolbox or entry.list_version != list_version:
            return None
        return entry.body if now < entry.fresh_until else None

    def get(self, toolbox: Toolbox, form: Format, sources: Sequence[Source]) -> bytes | None:
        entry = self._entries.get(_key(toolbox, form))
        if entry is None or entry.toolbox is not toolbox or len(entry.sources) != len(sources):
            return None
        is_same = all(before is now for before, now in zip(entry.sources, sources, strict=True))
        return entry.body if is_same else None

    def put(self, form: Format, entry: RenderedList) -> None:
        self._entries.put(_key(entry.toolbox, form), entry)


def _key(toolbox: Toolbox, form: Format) -> tuple[str, str, Format]:
    return toolbox.workspace_id, toolbox.agent.id, form
