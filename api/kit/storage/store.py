"""The store port that SQLite, PostgreSQL and DynamoDB implement: items, conditions and atomic writes.

Items are stored at `(pk, sk)`. A read sees every write that was acknowledged before it began; a `write` is atomic. An
item past its expiry does not exist, whether or not the engine has removed it yet.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

MAX_CHANGES = 100
MAX_ITEM_BYTES = 350_000
PAGE_BYTES = 1_000_000
"""A page of a list that users read ends with the item with which it is larger."""
MAX_WRITE_BYTES = 4_000_000  # DynamoDB's own limit for one transaction is 4 MB, names and keys included


class Key(NamedTuple):
    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Item:
    key: Key
    data: Mapping[str, Any]
    version: int
    expires_at: int | None = None
    size: int = field(default=0, compare=False)
    """In bytes, as stored."""


@dataclass(frozen=True, slots=True)
class IfAbsent:
    """No item is stored at the key."""


@dataclass(frozen=True, slots=True)
class IfPresent:
    """An item is stored at the key, whatever its version."""


@dataclass(frozen=True, slots=True)
class Always:
    """No condition."""


@dataclass(frozen=True, slots=True)
class IfVersion:
    """The stored item still has the version that was read."""

    version: int


Condition = IfAbsent | IfPresent | Always | IfVersion


def _next_version(condition: Condition) -> int:
    match condition:
        case IfAbsent():
            return 1
        case IfVersion(version):
            return version + 1
        case _:  # the old version is not known, so the new one is a number that no reader has seen
            return secrets.randbits(53)


@dataclass(frozen=True, slots=True)
class Put:
    key: Key
    data: Mapping[str, Any]
    condition: Condition
    expires_at: int | None = None
    version: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", _next_version(self.condition))

    @classmethod
    def copy_of(cls, item: Item) -> Put:
        """Puts the item of another store here, with its version."""
        put = cls(item.key, item.data, Always(), item.expires_at)
        object.__setattr__(put, "version", item.version)
        return put


@dataclass(frozen=True, slots=True)
class Delete:
    key: Key
    condition: Condition


@dataclass(frozen=True, slots=True)
class Check:
    """Writes nothing; the other changes of the write happen only if the condition holds."""

    key: Key
    condition: Condition


Change = Put | Delete | Check


class StoreError(Exception):
    """An operation of the store failed.

    StoreError
    ├── Conflict          a condition did not hold; nothing was written
    ├── ItemTooLarge      an item, or the whole write, is over the limit; nothing was written
    └── StoreUnavailable  throttled, down or too slow; the write may be retried
        ├── StoreFull     there is no room; deleting makes some
        └── StoreLost     the database is no longer where it was: what is written would be lost
    """


class Conflict(StoreError):
    def __init__(self, failed: Sequence[Key]) -> None:
        super().__init__(f"{len(failed)} condition(s) did not hold")
        self.failed = frozenset(failed)


class ItemTooLarge(StoreError):
    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes: an item may have {MAX_ITEM_BYTES}, a write {MAX_WRITE_BYTES}")


class StoreUnavailable(StoreError):
    pass


class StoreFull(StoreUnavailable):
    pass


class StoreLost(StoreUnavailable):
    pass


class Store(Protocol):
    async def get(self, key: Key) -> Item | None: ...

    async def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]: ...

    async def query(
        self,
        pk: str,
        prefix: str = "",
        *,
        limit: int = 100,
        after: str | None = None,
        newest_first: bool = False,
        max_bytes: int | None = None,
    ) -> list[Item]:
        """Items of one partition whose `sk` starts with `prefix`, ordered by `sk`, beginning after `after`.

        Ends after the item with which their sizes are together more than `max_bytes`.
        """
        ...

    async def write(self, *changes: Change) -> None:
        """Applies all of the changes, or none and raises `Conflict`. At most `MAX_CHANGES`, each to another key."""
        ...

    async def close(self) -> None: ...


class ScannableStore(Store, Protocol):
    """A store that can be read as a whole, which no request does: only commands copy an installation."""

    async def scan(self, limit: int, after: Key | None = None) -> list[Item]:
        """The next items in the engine's own order; fewer than `limit` only at the end."""
        ...


@runtime_checkable
class SyncReads(Protocol):
    """A store that reads within the process: a read costs less than waiting for another task's read."""

    def version_now(self, key: Key) -> int | None: ...


@runtime_checkable
class Losable(Protocol):
    """A store whose database can be taken away while it is open."""

    def check_place(self) -> None:
        """Raises `StoreLost` if what is written would be lost."""
        ...


def check_sizes(encoded: Sequence[bytes]) -> None:
    """Applies the same limits to every engine, so that data fits into each of them."""
    total = sum(map(len, encoded))
    largest = max(map(len, encoded), default=0)
    if largest > MAX_ITEM_BYTES:
        raise ItemTooLarge(largest)
    if total > MAX_WRITE_BYTES:
        raise ItemTooLarge(total)


def within(items: Iterable[Item], max_bytes: int | None) -> Iterator[Item]:
    """The first items, until their sizes are together more than `max_bytes`."""
    if max_bytes is None:
        yield from items
        return
    total = 0
    for item in items:
        yield item
        total += item.size
        if total > max_bytes:
            return


def check_changes(changes: Sequence[Change]) -> None:
    """Refuses a write that no engine can apply. Such a write is a mistake in our code."""
    if not 0 < len(changes) <= MAX_CHANGES:
        message = f"a write takes 1 to {MAX_CHANGES} changes, not {len(changes)}"
        raise ValueError(message)
    if len({change.key for change in changes}) != len(changes):
        message = "a write changes each key once"
        raise ValueError(message)


def prefix_end(prefix: str) -> str:
    """The first string in the order of code points after all that start with `prefix`."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
