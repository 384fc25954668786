"""A map that keeps a number of entries: those that were used last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """For small entries of equal size; what others choose the size of belongs into a `CacheMemory`. Not thread-safe."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._values: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[K]:
        """Iterate from the least recently used entry."""
        return iter(self._values)

    def get(self, key: K) -> V | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def peek(self, key: K) -> V | None:
        """The value of a key, without counting as a use."""
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        self.pop(key)
        while len(self._values) >= self._max_entries:
            self._values.popitem(last=False)
        self._values[key] = value

    def pop(self, key: K) -> V | None:
        return self._values.pop(key, None)
