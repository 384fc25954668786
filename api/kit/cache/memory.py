"""The memory of a process's caches: bounded in bytes, for each owner and in all.

Each entry is counted once, with an estimate of its size. A use only sets a mark, which is cheaper than an order:
the oldest entry without a mark goes first, and marked ones lose the mark instead. An owner beyond its share loses its
own entries only; beyond the bound of the process, the oldest owner without a mark loses one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

PROCESS_BYTES = 256_000_000
OWNER_BYTES = 64_000_000
ENTRY_BYTES = 700
"""What an entry takes besides its value: its key, its place in the order, and its owner's."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Bound = Literal["workspace", "process"]


@dataclass(slots=True)
class CacheUse:
    """What one cache holds, and how often one of its entries had to go for a bound."""

    name: str
    size: int = 0
    evicted_by_workspace: int = 0
    evicted_by_process: int = 0


class CacheMemory:
    """Not thread-safe; use on the event loop only."""

    def __init__(self, process_bytes: int = PROCESS_BYTES, owner_bytes: int = OWNER_BYTES) -> None:
        self.size = 0
        self.uses: list[CacheUse] = []
        self._process_bytes = process_bytes
        self._owner_bytes = owner_bytes
        self._owners: OrderedDict[str, _Owner] = OrderedDict()

    def size_of(self, owner: str) -> int:
        held = self._owners.get(owner)
        return held.size if held else 0

    def register(self, use: CacheUse) -> None:
        self.uses.append(use)

    def owner(self, name: str) -> _Owner:
        held = self._owners.get(name)
        if held is None:
            held = self._owners[name] = _Owner(name)
        return held

    def count(self, entry: _Entry[Any, Any], size: int) -> None:
        """Count an entry with this size from now on, and make room for it; one beyond a bound goes itself."""
        self._change(entry, size - entry.size)
        entry.owner.entries[entry] = None
        entry.owner.entries.move_to_end(entry)
        self._owners.move_to_end(entry.owner.name)
        if size > min(self._owner_bytes, self._process_bytes):
            self._evict(entry, "workspace")
            return
        entry.is_used = entry.owner.is_used = True  # so that others go first
        while entry.owner.size > self._owner_bytes:
            self._evict(_oldest_unused(entry.owner.entries), "workspace")
        while self.size > self._process_bytes:
            self._evict(_oldest_unused(self._oldest_unused_owner().entries), "process")
        entry.is_used = entry.owner.is_used = False

    def release(self, entry: _Entry[Any, Any]) -> None:
        owner = entry.owner
        self._change(entry, -entry.size)
        del owner.entries[entry]
        if not owner.entries:
            del self._owners[owner.name]

    def _change(self, entry: _Entry[Any, Any], size: int) -> None:
        entry.size += size
        entry.owner.size += size
        entry.cache.usage.size += size
        self.size += size

    def _oldest_unused_owner(self) -> _Owner:
        while (owner := next(iter(self._owners.values()))).is_used:
            owner.is_used = False
            self._owners.move_to_end(owner.name)
        return owner

    def _evict(self, entry: _Entry[Any, Any], bound: Bound) -> None:
        if bound == "workspace":
            entry.cache.usage.evicted_by_workspace += 1
        else:
            entry.cache.usage.evicted_by_process += 1
        entry.cache.evict(entry.key)


def _oldest_unused(entries: OrderedDict[_Entry[Any, Any], None]) -> _Entry[Any, Any]:
    while (entry := next(iter(entries))).is_used:
        entry.is_used = False
        entries.move_to_end(entry)
    return entry


class _Owner:
    __slots__ = ("entries", "is_used", "name", "size")

    def __init__(self, name: str) -> None:
        self.name = name
        self.size = 0
        self.is_used = False
        self.entries: OrderedDict[_Entry[Any, Any], None] = OrderedDict()


class _Entry(Generic[K, V]):
    """Compared by identity."""

    __slots__ = ("cache", "is_used", "key", "owner", "size", "value")

    def __init__(self, cache: OwnedCache[K, V], owner: _Owner, key: K, value: V) -> None:
        self.cache = cache
        self.owner = owner
        self.key = key
        self.value = value
        self.size = 0
        self.is_used = False


class OwnedCache(Generic[K, V]):
    """One of the caches that share a `CacheMemory`. `on_evict` is called with each value that has to go for a bound."""

    def __init__(self, memory: CacheMemory, name: str, on_evict: Callable[[V], None] = lambda _: None) -> None:
        self.usage = CacheUse(name)
        self._memory = memory
        self._on_evict = on_evict
        self._entries: dict[K, _Entry[K, V]] = {}
        memory.register(self.usage)

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[K, V]]:
        return ((key, entry.value) for key, entry in self._entries.items())

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry.is_used = entry.owner.is_used = True
        return entry.value

    def peek(self, key: K) -> V | None:
        """The value of a key, without counting as a use."""
        entry = self._entries.get(key)
        return entry.value if entry else None

    def put(self, owner: str, key: K, value: V, size: int) -> None:
        """`size`: what the value takes in memory. A value beyond a bound is not kept."""
        self.pop(key)
        entry = self._entries[key] = _Entry(self, self._memory.owner(owner), key, value)
        self._memory.count(entry, size + ENTRY_BYTES)

    def resize(self, key: K, size: int) -> None:
        entry = self._entries.get(key)
        if entry is not None:
            self._memory.count(entry, size + ENTRY_BYTES)

    def pop(self, key: K) -> V | None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self._memory.release(entry)
        return entry.value

    def evict(self, key: K) -> None:
        entry = self._entries.pop(key)
        self._memory.release(entry)
        self._on_evict(entry.value)
