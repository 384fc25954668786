from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from litestar import Request

from api.http.pagination import Paging
from api.http.selection import AT_ONCE, LOOKED_AT, select
from api.kit.crypto.secret import Secret
from api.kit.cursors import CursorSigner
from api.kit.storage.store import PAGE_BYTES

REQUEST: Request[Any, Any, Any] = Request({"type": "http", "path": "/", "query_string": b""})  # type: ignore[typeddict-item]


class Numbers:
    """A hundred thousand items, and how many of them were read."""

    def __init__(self, count: int = 100_000) -> None:
        self.items = range(count)
        self.read = 0

    async def __call__(self, limit: int, after: str | None) -> Sequence[int]:
        start = 0 if after is None else int(after) + 1
        page = self.items[start : start + limit]
        self.read += len(page)
        return page


def paging(limit: int, after: str | None = None) -> Paging:
    return Paging(REQUEST, CursorSigner(Secret(b"k" * 32)), limit, after)


@pytest.mark.anyio
async def test_a_request_looks_at_a_bounded_number_of_items() -> None:
    numbers = Numbers()

    page = await select(paging(100), numbers, str, lambda number: number == 5000)

    assert (page.items, page.last, numbers.read) == ([], str(LOOKED_AT - 1), LOOKED_AT)


@pytest.mark.anyio
@pytest.mark.parametrize("count", [0, 1, AT_ONCE, AT_ONCE + 1, LOOKED_AT, LOOKED_AT + 1, 3456])
async def test_the_pages_together_have_every_item_once(count: int) -> None:
    found: list[int] = []
    after, pages = None, 0
    while pages == 0 or after is not None:
        page = await select(paging(7, after), Numbers(count), str, lambda number: number % 13 == 0)
        found += page.items
        after, pages = page.last, pages + 1

    assert found == list(range(0, count, 13))


@pytest.mark.anyio
async def test_without_a_filter_one_more_item_than_shown_is_read() -> None:
    numbers = Numbers()

    page = await select(paging(10), numbers, str, None)

    assert (list(page.items), page.last, numbers.read) == (list(range(10)), "9", 11)


@pytest.mark.anyio
@pytest.mark.parametrize("keeps", [None, lambda number: number % 2 == 0])
async def test_pages_of_large_items_end_early_and_together_have_every_item_once(
    keeps: Callable[[int], bool] | None,
) -> None:
    class LargeNumbers(Numbers):
        async def __call__(self, limit: int, after: str | None) -> Sequence[int]:
            return await super().__call__(min(limit, 4), after)

    found: list[int] = []
    after, pages = None, 0
    while pages == 0 or after is not None:
        page = await select(paging(100, after), LargeNumbers(22), str, keeps, lambda _: PAGE_BYTES // 3)
        assert len(page.items) <= 5
        found += page.items
        after, pages = page.last, pages + 1

    assert found == [number for number in range(22) if keeps is None or keeps(number)]
