"""The cases of the bench: which server gets which requests, and how many at a time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from api.toolbox.tool_names import tool_name
from bench import passthrough_apps, response_check, upstream
from bench.load import Question
from bench.processes import Served
from bench.seeding import CALLED, Seeded, slug

PAGE = "?limit=50"
AT_RANDOM = 40_000  # twice what a process remembers, so that most of it is read from the store
ONE_AND_MANY = (1, 32)
MANY = (32,)
ARE_ALL = partial(response_check.are_tools, servers=CALLED)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    server: Served
    questions: Iterator[Question]
    concurrency: int
    upstream_requests: int | None = None
    """How many each question has to cost, where that is not any number."""


@dataclass(frozen=True, slots=True)
class Product:
    served: Served
    stored: Seeded


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that runs. Products go by what is stored in them, and where if not in SQLite."""

    products: Mapping[str, Product]
    bare: Served
    floors: Mapping[str, Served]
    upstream: Served


def one(seeded: Seeded) -> Question:
    return Question.get(seeded.path(seeded.server_ids[0]), seeded.key, b"")


def page(seeded: Seeded) -> Question:
    return Question.get(seeded.path() + PAGE, seeded.key, b"")


def tools(seeded: Seeded, agent_id: str) -> Question:
    return Question.get(f"{seeded.agent_path(agent_id)}/tools?format=mcp", seeded.key, b"")


async def all_cases(stage: Stage) -> list[Case]:
    return [*await _servers(stage), *await _calls(stage), *await _tools(stage), *await _all_tools(stage)]


async def _servers(stage: Stage) -> list[Case]:
    few = stage.products["few"]
    found: list[Case] = []
    for what, question in (("one", one(few.stored)), ("list", page(few.stored))):
        found += await _same(f"{what} bare", stage.bare, question, bool)
        found += await _same(f"{what} product", few.served, question, bool)
    for name in ("few", "same", "spread"):
        found += _by_size(name, stage.products[name])
    return found


def _by_size(name: str, product: Product) -> Iterator[Case]:
    seeded = product.stored
    hot = _question(seeded, seeded.server_ids[len(seeded.server_ids) // 2])
    some = [_question(seeded, each) for each in random.choices(seeded.server_ids, k=AT_RANDOM)]
    yield Case(f"hot {name}", product.served, itertools.repeat(hot), 32)
    yield Case(f"random {name}", product.served, itertools.cycle(some), 32)


def _question(seeded: Seeded, server_id: str) -> Question:
    return Question.get(seeded.path(server_id), seeded.key, f'{{"id":"{server_id}",'.encode())


async def _calls(stage: Stage) -> list[Case]:
    found = await _same("call direct", stage.upstream, _directly(upstream.called()), response_check.is_result)
    for name, served in stage.floors.items():
        found += await _same(f"call {name}", served, _call(passthrough_apps.CALLS, {}), response_check.is_result)
    for name, product in stage.products.items():
        seeded = product.stored
        path = f"{seeded.agent_path(seeded.agent_of_one)}/tool-calls"
        question = _call(path, {"authorization": f"Bearer {seeded.key}"})
        found += await _same(f"call {name}", product.served, question, response_check.is_call, _often(name), 1)
    return found


async def _tools(stage: Stage) -> list[Case]:
    """Of one server."""
    found = await _same("tools direct", stage.upstream, _directly(upstream.listed()), response_check.is_list)
    for name, served in stage.floors.items():
        check = partial(response_check.are_lists, servers=1)
        found += await _same(f"tools {name}", served, _get(f"{passthrough_apps.TOOLS}1"), check)
    product = stage.products["few"]
    question = tools(product.stored, product.stored.agent_of_one)
    found += await _same(
        "tools few", product.served, question, partial(response_check.are_tools, servers=1), upstream_requests=0
    )
    return found


async def _all_tools(stage: Stage) -> list[Case]:
    """Of all servers that can be called. `bytes`: what the product answers, served from memory."""
    found = await _same("all bytes", stage.floors["asgi"], _get(passthrough_apps.BYTES), ARE_ALL)
    for name, served in stage.floors.items():
        lists = partial(response_check.are_lists, servers=CALLED)
        found += await _same(f"all {name}", served, _get(f"{passthrough_apps.TOOLS}{CALLED}"), lists)
    for name, product in stage.products.items():
        question = tools(product.stored, product.stored.agent_of_all)
        found += await _same(f"all {name}", product.served, question, ARE_ALL, _often(name), 0)
    return found


async def _same(
    name: str,
    server: Served,
    question: Question,
    is_right: response_check.Check,
    concurrencies: Sequence[int] = ONE_AND_MANY,
    upstream_requests: int | None = None,
) -> list[Case]:
    answered = await response_check.answered(server.port, question, is_right)
    return [
        Case(f"{name} {each}", server, itertools.repeat(answered), each, upstream_requests) for each in concurrencies
    ]


def _often(name: str) -> Sequence[int]:
    """Whether there is more or less in the store is only of interest where the server is busy."""
    return ONE_AND_MANY if name.endswith("few") else MANY


def _call(path: str, headers: Mapping[str, str]) -> Question:
    name = tool_name(slug(0), upstream.tool_name(0))
    body = msgspec.json.encode({"toolName": name, "args": upstream.CALLED})
    return Question.post(path, {"content-type": "application/json", **headers}, body, b"")


def _directly(asked: tuple[bytes, Mapping[str, str]]) -> Question:
    body, headers = asked
    return Question.post(upstream.PATH.format(0), headers, body, b"")


def _get(path: str) -> Question:
    return Question.get(path, "", b"")
