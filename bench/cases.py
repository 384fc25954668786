"""The cases of the bench: a server, its requests, and their concurrency."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from api.toolbox.tool_names import tool_name
from bench import passthrough_apps, response_check, upstream
from bench.load import Request
from bench.processes import RunningServer
from bench.seeding import CALLABLE, Seeded, slug

PAGE = "?limit=50"
RANDOM_READS = 40_000  # twice the size of a process's cache, so that most reads reach the store
ALONE_AND_CONCURRENT = (1, 32)
CONCURRENT = (32,)
ARE_ALL_TOOLS = partial(response_check.are_tools, servers=CALLABLE)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    server: RunningServer
    requests: Iterator[Request]
    concurrency: int
    upstream_requests: int | None = None
    """The exact number of upstream requests per request, if the case prescribes one."""


@dataclass(frozen=True, slots=True)
class Product:
    server: RunningServer
    seeded: Seeded


@dataclass(frozen=True, slots=True)
class BenchServers:
    """All running servers. The name of a product says what it stores, and in which store if not in SQLite."""

    products: Mapping[str, Product]
    bare: RunningServer
    floors: Mapping[str, RunningServer]
    upstream: RunningServer


def server_request(seeded: Seeded) -> Request:
    return Request.get(seeded.path(seeded.server_ids[0]), seeded.key, b"")


def page_request(seeded: Seeded) -> Request:
    return Request.get(seeded.path() + PAGE, seeded.key, b"")


def tools_request(seeded: Seeded, agent_id: str) -> Request:
    return Request.get(f"{seeded.agent_path(agent_id)}/tools?format=mcp", seeded.key, b"")


async def all_cases(stage: BenchServers) -> list[Case]:
    return [*await _servers(stage), *await _calls(stage), *await _tools(stage), *await _all_tools(stage)]


async def _servers(stage: BenchServers) -> list[Case]:
    few = stage.products["few"]
    results: list[Case] = []
    for what, question in (("one", server_request(few.seeded)), ("list", page_request(few.seeded))):
        results += await _checked_cases(f"{what} bare", stage.bare, question, bool)
        results += await _checked_cases(f"{what} product", few.server, question, bool)
    for name in ("few", "same", "spread"):
        results += _by_size(name, stage.products[name])
    return results


def _by_size(name: str, product: Product) -> Iterator[Case]:
    seeded = product.seeded
    hot = _read_request(seeded, seeded.server_ids[len(seeded.server_ids) // 2])
    some = [_read_request(seeded, choice) for choice in random.choices(seeded.server_ids, k=RANDOM_READS)]
    yield Case(f"hot {name}", product.server, itertools.repeat(hot), 32)
    yield Case(f"random {name}", product.server, itertools.cycle(some), 32)


def _read_request(seeded: Seeded, server_id: str) -> Request:
    return Request.get(seeded.path(server_id), seeded.key, f'{{"id":"{server_id}",'.encode())


async def _calls(stage: BenchServers) -> list[Case]:
    cases = await _checked_cases(
        "call direct", stage.upstream, _direct_request(upstream.call_request()), response_check.is_result
    )
    for name, served in stage.floors.items():
        cases += await _checked_cases(
            f"call {name}", served, _call_request(passthrough_apps.CALLS, {}), response_check.is_result
        )
    for name, product in stage.products.items():
        seeded = product.seeded
        path = f"{seeded.agent_path(seeded.agent_of_one)}/tool-calls"
        question = _call_request(path, {"authorization": f"Bearer {seeded.key}"})
        cases += await _checked_cases(
            f"call {name}", product.server, question, response_check.is_call, _concurrencies(name), 1
        )
    return cases


async def _tools(stage: BenchServers) -> list[Case]:
    """The cases that list the tools of one server."""
    cases = await _checked_cases(
        "tools direct", stage.upstream, _direct_request(upstream.list_request()), response_check.is_list
    )
    for name, served in stage.floors.items():
        check = partial(response_check.are_lists, servers=1)
        cases += await _checked_cases(f"tools {name}", served, _get_request(f"{passthrough_apps.TOOLS}1"), check)
    product = stage.products["few"]
    question = tools_request(product.seeded, product.seeded.agent_of_one)
    cases += await _checked_cases(
        "tools few", product.server, question, partial(response_check.are_tools, servers=1), upstream_requests=0
    )
    return cases


async def _all_tools(stage: BenchServers) -> list[Case]:
    """The cases that list the tools of all callable servers. `bytes`: the product's response, served from memory."""
    cases = await _checked_cases("all bytes", stage.floors["asgi"], _get_request(passthrough_apps.BYTES), ARE_ALL_TOOLS)
    for name, served in stage.floors.items():
        lists = partial(response_check.are_lists, servers=CALLABLE)
        cases += await _checked_cases(f"all {name}", served, _get_request(f"{passthrough_apps.TOOLS}{CALLABLE}"), lists)
    for name, product in stage.products.items():
        question = tools_request(product.seeded, product.seeded.agent_of_all)
        cases += await _checked_cases(f"all {name}", product.server, question, ARE_ALL_TOOLS, _concurrencies(name), 0)
    return cases


async def _checked_cases(
    name: str,
    server: RunningServer,
    question: Request,
    is_right: response_check.Check,
    concurrencies: Sequence[int] = ALONE_AND_CONCURRENT,
    upstream_requests: int | None = None,
) -> list[Case]:
    answered = await response_check.expecting_first_response(server.port, question, is_right)
    return [
        Case(f"{name} {concurrency}", server, itertools.repeat(answered), concurrency, upstream_requests)
        for concurrency in concurrencies
    ]


def _concurrencies(name: str) -> Sequence[int]:
    """The number of stored items is compared only under load."""
    return ALONE_AND_CONCURRENT if name.endswith("few") else CONCURRENT


def _call_request(path: str, headers: Mapping[str, str]) -> Request:
    name = tool_name(slug(0), upstream.tool_name(0))
    body = msgspec.json.encode({"toolName": name, "args": upstream.CALL_ARGUMENTS})
    return Request.post(path, {"content-type": "application/json", **headers}, body, b"")


def _direct_request(requested: tuple[bytes, Mapping[str, str]]) -> Request:
    body, headers = requested
    return Request.post(upstream.PATH.format(0), headers, body, b"")


def _get_request(path: str) -> Request:
    return Request.get(path, "", b"")
