"""A map that keeps what was used last, within a number of entries and a total size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A bounded cache that drops the least recently used entry when it is full. Not thread-safe.

    `size_of` gives a value's share of `max_size`; an entry that is larger than the whole is not kept.
    """

    def __init__(
        self, max_entries: int, max_size: int | None = None, size_of: Callable[[V], int] = lambda _: 0
    ) -> None:
        self.size = 0
        self._max_entries = max_entries
        self._max_size = max_size
        self._size_of = size_of
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
        size = self._size_of(value)
        if self._max_size is not None and size > self._max_size:
            return
        while not self._has_room(size):
            self.pop(next(iter(self._values)))
        self._values[key] = value
        self.size += size

    def pop(self, key: K) -> V | None:
        value = self._values.pop(key, None)
        if value is not None:
            self.size -= self._size_of(value)
        return value

    def _has_room(self, size: int) -> bool:
        if len(self._values) >= self._max_entries:
            return False
        return self._max_size is None or self.size + size <= self._max_size
