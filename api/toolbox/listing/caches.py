"""Caches of agents' toolboxes and of their rendered tool lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import ref

from api.access.context import partition_of
from api.kit.cache.memory import CacheMemory, OwnedCache
from api.toolbox.agent_toolbox import Toolbox
from api.toolbox.listing.client_formats import Format
from api.toolbox.listing.tool_list import Source

SOURCE_BYTES = 200
"""What a list takes for each server besides its body, for which the encoder holds up to half as much memory again."""


class ToolboxCache:
    """Toolboxes, each valid for one revision of its workspace."""

    def __init__(self, memory: CacheMemory) -> None:
        self._entries: OwnedCache[tuple[str, str], tuple[int, Toolbox]] = OwnedCache(memory, "toolboxes")

    def get(self, workspace_id: str, agent_id: str, revision: int) -> Toolbox | None:
        entry = self._entries.get((workspace_id, agent_id))
        return entry[1] if entry and entry[0] == revision else None

    def put(self, toolbox: Toolbox, revision: int) -> None:
        key, owner = (toolbox.workspace_id, toolbox.agent.id), partition_of(toolbox.workspace_id)
        self._entries.put(owner, key, (revision, toolbox), toolbox.size)


class RenderedList(NamedTuple):
    """Keeps neither the toolbox nor the lists of its servers alive, which are counted where they are cached."""

    toolbox: ref[Toolbox]
    sources: Sequence[ref[Source]]
    body: bytes
    list_version: int
    fresh_until: float


class RenderedListCache:
    """The bytes of lists, each valid as long as it would be rendered from the same objects."""

    def __init__(self, memory: CacheMemory) -> None:
        self._entries: OwnedCache[tuple[str, str, Format], RenderedList] = OwnedCache(memory, "lists")

    def get_unchanged(self, toolbox: Toolbox, form: Format, list_version: int, now: float) -> bytes | None:
        """The bytes if no list in the process has changed, without comparing the sources."""
        entry = self._entries.get(_key(toolbox, form))
        if entry is None or entry.toolbox() is not toolbox or entry.list_version != list_version:
            return None
        return entry.body if now < entry.fresh_until else None

    def get(self, toolbox: Toolbox, form: Format, sources: Sequence[Source]) -> bytes | None:
        entry = self._entries.get(_key(toolbox, form))
        if entry is None or entry.toolbox() is not toolbox or len(entry.sources) != len(sources):
            return None
        is_same = all(before() is now for before, now in zip(entry.sources, sources, strict=True))
        return entry.body if is_same else None

    def put(
        self,
        toolbox: Toolbox,
        form: Format,
        sources: Sequence[Source],
        body: bytes,
        list_version: int,
        fresh_until: float,
    ) -> None:
        entry = RenderedList(ref(toolbox), [ref(source) for source in sources], body, list_version, fresh_until)
        size = len(body) * 3 // 2 + SOURCE_BYTES * len(sources)
        self._entries.put(partition_of(toolbox.workspace_id), _key(toolbox, form), entry, size)


def _key(toolbox: Toolbox, form: Format) -> tuple[str, str, Format]:
    return toolbox.workspace_id, toolbox.agent.id, form
