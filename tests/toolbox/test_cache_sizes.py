"""The estimated sizes of what caches hold, measured."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from api.agents.agent import Agent
from api.kit.cache.heap_size import heap_size
from api.servers.server import Server
from api.toolbox.agent_toolbox import Toolbox
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from integrations import ListedTools
from tests.cpu_time import untraced

AT = "2026-01-01T00:00:00Z"
Json = dict[str, Any]

SCHEMAS: dict[str, Callable[[int], Json]] = {
    "ordinary": lambda number: {
        "type": "object",
        "properties": {f"p{number}_{place}": {"type": "string", "description": "A word."} for place in range(8)},
    },
    "empty lists": lambda _: {"type": "object", "properties": {"a": {"enum": [[] for _ in range(3000)]}}},
    "small numbers": lambda _: {"type": "object", "properties": {"a": {"enum": list(range(5000))}}},
    "none": lambda _: {},
}


def allocated(make: Callable[[], object]) -> tuple[int, object]:
    """What an object takes, with all that it holds. What is made once for all is not counted.

    The least of three: other threads of the process may allocate meanwhile.
    """
    make()
    return min((_traced(make) for _ in range(3)), key=lambda traced: traced[0])


def _traced(make: Callable[[], object]) -> tuple[int, object]:
    gc.collect()
    tracemalloc.start()
    try:
        with untraced():
            made = make()
        gc.collect()
        return tracemalloc.get_traced_memory()[0], made
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", SCHEMAS)
def test_a_list_of_tools_takes_no_more_memory_than_is_counted(shape: str) -> None:
    count = 40 if shape in ("empty lists", "small numbers") else 1000

    def make() -> ToolCatalog:
        listed = tuple(
            {"name": f"tool_{number}", "title": "A tool", "inputSchema": SCHEMAS[shape](number), "icons": [{}] * 50}
            for number in range(count)
        )
        catalog = asyncio.run(ToolCatalog.of(ListedTools(listed), now=0))
        for tool in catalog.tools:
            tool.prepare()
        catalog.by_alias("weather")
        return catalog

    size, catalog = allocated(make)

    assert isinstance(catalog, ToolCatalog)
    assert catalog.size / 5 < size < catalog.size


@pytest.mark.parametrize(("names", "length"), [(500, 5), (500, 40), (3, 10)])
def test_a_toolbox_takes_no_more_memory_than_is_counted(names: int, length: int) -> None:
    def make() -> Toolbox:
        ids = [f"server_{number}" for number in range(40)]
        rules = {server: [f"{server}{number}".rjust(length, "x") for number in range(names)] for server in ids}
        agent = Agent("agent_1", "A", "", "Do it. " * 1000, ids, rules, AT, AT)
        fields: Json = {"description": "", "url": "https://a.example", "auth_type": "none", "service_type": "external"}
        rest: Json = {"enabled": True, "timeout_seconds": 30, "exposure": "both", "created_at": AT, "updated_at": AT}
        servers = {server: Server(id=server, name=server, slug=f"s{server[7:]}", **fields, **rest) for server in ids}
        toolbox = Toolbox.of("ws_1", agent, servers)
        assert all(share.aliases for share in toolbox.servers)  # computed, as after calls to all servers
        return toolbox

    size, toolbox = allocated(make)

    assert isinstance(toolbox, Toolbox)
    assert toolbox.size / 4 < size < toolbox.size


def test_a_decoded_record_takes_little_more_memory_than_is_counted() -> None:
    """Other threads of the process allocate while it is measured."""
    size, record = allocated(lambda: {f"name {number}": [str(number), [], {}] for number in range(1000)})

    assert 0.9 * size < heap_size(record) < 2 * size


VALIDATORS = """
import gc, sys
from api.toolbox.toolsets.tool_catalog import CatalogTool
from tests.cpu_time import untraced

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def tool(number):
    return CatalogTool({"name": "a", "inputSchema": SCHEMA(number)})

def used(number):
    made = tool(number)
    made.parse({"p1": "abc", "a": 1})
    return made

SCHEMA = eval(sys.argv[1])
used(10_000)
before = resident()
kept = [used(number) for number in range(30)]
gc.collect()
print((resident() - before) // len(kept), sum(one.size for one in kept) // len(kept))
"""
PATTERNS = 'lambda n: {{"type": "object", "properties": {{"p%s" % k: {{"pattern": {} % (n, k)}} for k in range(20)}}}}'


@pytest.mark.parametrize(
    "schema",
    [
        'lambda n: {"type": "object", "properties": {"p%s_%s" % (n, k): {"type": "string"} for k in range(300)}}',
        'lambda n: {"type": "object", "allOf": [{"minProperties": 0}] * 2000}',
        'lambda n: {"type": "object", "allOf": [True] * 9000}',
        'lambda n: {"type": "object", "properties": {"a": {"enum": list(range(9000))}}}',
        'lambda n: {"type": "object", "properties": {"a": {"enum": [[] for k in range(9000)]}}}',
        PATTERNS.format(r'"^[a-z]{1,40}%d %d$"'),
        PATTERNS.format(r'"^\\S{1,100}%d %d$"'),
        PATTERNS.format(r'"^\\p{L}{1,10}%d %d$"'),
        PATTERNS.format(r'"(([a-z]{1,20}){1,20})%d %d$"'),
    ],
    ids=["properties", "allOf", "booleans", "numbers", "lists", "letters", "wide", "property", "groups"],
)
def test_a_validator_takes_no_more_memory_than_is_counted(schema: str) -> None:
    """The engine allocates by itself, so a process of its own measures it."""
    run = subprocess.run(
        [sys.executable, "-c", VALIDATORS, schema], capture_output=True, text=True, check=True, timeout=120
    )
    taken, counted = map(int, run.stdout.split())

    assert taken < counted * 1.15 + 10_000
