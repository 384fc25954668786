"""The comparisons of the bench and their limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.load import Round

AGAINST_BARE = 2.0
MORE_STORED = 1.15
CALL_ON_SQLITE = 1 / 0.6  # at least 0.6 of the floor's throughput
CALL_ON_DYNAMODB = 1 / 0.4
CALL_WAITS = 1.75
WARM_LIST = 1.5

Time = Callable[[Round], float]


def cpu_time(round_: Round) -> float:
    return round_.cpu_per_request


def wall_time(round_: Round) -> float:
    return round_.per_request


def p50(round_: Round) -> float:
    return round_.p50


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ratio of the times per request of two cases; without a limit it is only reported.

    With 32 at a time, the CPU time of the server's process counts: where the server is the bottleneck, that is the
    inverse of the throughput. It does not depend on whether the load generator keeps up, nor on other programs. One at
    a time, the median wait counts.
    """

    name: str
    case: str
    than: str
    at_most: float | None = None

    @property
    def time(self) -> Time:
        return p50 if self.case.endswith(" 1") else cpu_time


def comparisons(stored: int, few: int) -> Iterator[Comparison]:
    more = {"same": f"{stored:,} in the workspace / {few}", "spread": f"{stored:,} in other workspaces / {few}"}
    yield from _servers(more)
    yield from _calls(more)
    yield from _lists(more)


def _servers(more: dict[str, str]) -> Iterator[Comparison]:
    yield Comparison("one server, 1 at a time / bare", "one product 1", "one bare 1")
    yield Comparison("one server, 32 at a time / bare", "one product 32", "one bare 32", AGAINST_BARE)
    yield Comparison("list of 50, 1 at a time / bare", "list product 1", "list bare 1")
    yield Comparison("list of 50, 32 at a time / bare", "list product 32", "list bare 32")
    for kind, text in more.items():
        yield Comparison(f"hot server, {text}", f"hot {kind}", "hot few", MORE_STORED)
        # With more servers than a process caches, a random one is read and rendered again. The ratio is only reported,
        # because it compares an uncached server with a cached one, regardless of the number stored.
        limit = None if kind == "same" else MORE_STORED
        yield Comparison(f"random server, {text}", f"random {kind}", "random few", limit)


def _calls(more: dict[str, str]) -> Iterator[Comparison]:
    yield Comparison("call, 1 at a time / ASGI + aiohttp", "call few 1", "call asgi 1", CALL_WAITS)
    yield Comparison("call, 32 at a time / ASGI + aiohttp", "call few 32", "call asgi 32", CALL_ON_SQLITE)
    for concurrency in (1, 32):
        at_a_time = f"{concurrency} at a time"
        for floor, text in (("litestar", "Litestar + aiohttp"), ("direct", "made directly")):
            yield Comparison(f"call, {at_a_time} / {text}", f"call few {concurrency}", f"call {floor} {concurrency}")
    yield Comparison("call, DynamoDB, 1 at a time / ASGI + aiohttp", "call dynamodb few 1", "call asgi 1")
    name = "call, DynamoDB, 32 at a time / ASGI + aiohttp"
    yield Comparison(name, "call dynamodb few 32", "call asgi 32", CALL_ON_DYNAMODB)
    for kind, text in more.items():
        yield Comparison(f"call, {text}", f"call {kind} 32", "call few 32", MORE_STORED)
    limit, than = MORE_STORED, "call dynamodb few 32"
    yield Comparison(f"call, DynamoDB, {more['same']}", "call dynamodb same 32", than, limit)


def _lists(more: dict[str, str]) -> Iterator[Comparison]:
    floors = (("asgi", "ASGI + aiohttp"), ("litestar", "Litestar + aiohttp"))
    for concurrency in (1, 32):
        tools, at_a_time = f"tools few {concurrency}", f"{concurrency} at a time"
        for floor, text in (*floors, ("direct", "made directly")):
            yield Comparison(f"20 tools, {at_a_time} / {text}", tools, f"tools {floor} {concurrency}")
        every, name = f"all few {concurrency}", f"400 tools, {at_a_time}"
        yield Comparison(f"{name} / the same bytes", every, f"all bytes {concurrency}", WARM_LIST)
        for floor, text in floors:
            yield Comparison(f"{name} / {text}", every, f"all {floor} {concurrency}")
        name = f"400 tools, DynamoDB, {at_a_time} / the same bytes"
        yield Comparison(name, f"all dynamodb few {concurrency}", f"all bytes {concurrency}")
    for kind, text in more.items():
        yield Comparison(f"400 tools, {text}", f"all {kind} 32", "all few 32", MORE_STORED)
