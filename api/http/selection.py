"""The pages of a filtered list: a request looks at a bounded number of items, and the cursor goes on from there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from api.http.pagination import Paging
from api.kit.storage.store import PAGE_BYTES

LOOKED_AT = 1000
AT_ONCE = 50
T = TypeVar("T")

Read = Callable[[int, str | None], Awaitable[Sequence[T]]]
"""Reads so many items after a position."""


@dataclass(frozen=True, slots=True)
class Selection(Generic[T]):
    items: Sequence[T]
    last: str | None
    """The position after which the next page begins; None if there is none."""


async def select(
    paging: Paging,
    read: Read[T],
    position: Callable[[T], str],
    keeps: Callable[[T], bool] | None,
    size: Callable[[T], int] = lambda _: 0,
) -> Selection[T]:
    """A page. With `keeps` it may be short or empty; it is also short where items are large.

    A read that returns fewer items than it was asked for has come to the end, or to `PAGE_BYTES`.
    """
    if keeps is None:
        items = await read(paging.one_more, paging.after)
        shown = items[: paging.limit]
        is_last = len(items) <= paging.limit and _fits(items, size)
        return Selection(shown, None if is_last else position(shown[-1]))
    kept: list[T] = []
    last = paging.after
    for _ in range(LOOKED_AT // AT_ONCE):
        items = await read(AT_ONCE, last)
        for item in items:
            last = position(item)
            if keeps(item):
                kept.append(item)
            if len(kept) == paging.limit:
                return Selection(kept, last)
        if len(items) < AT_ONCE and _fits(items, size):
            return Selection(kept, None)
        if not _fits(kept, size):
            break
        await asyncio.sleep(0)  # other requests go on between two reads
    return Selection(kept, last)


def _fits(items: Sequence[T], size: Callable[[T], int]) -> bool:
    return sum(map(size, items)) <= PAGE_BYTES
