"""Paths and queries have limits, which every legal request keeps, and nothing of them stays in memory."""

from __future__ import annotations

import tracemalloc
from typing import Any
from urllib.parse import quote

import pytest

from api.errors import AppError
from api.http.request import MAX_PARAMETERS, MAX_PATH, MAX_QUERY, target_refusal
from tests.cpu_time import cpu_seconds
from tests.harness import Workspace, error_paths
from tests.http.operations_on_workspace import OPERATIONS, Operation, PopulatedWorkspace, assert_problem

CALLBACK = "/api/mcp/oauth/external/callback"
FLAG = quote("🏁")
"""A character takes twelve bytes of a query at most."""
MANY = 200
MEGABYTE = 1_048_576


def refusal(path: str = "/healthz", query: str = "") -> AppError | None:
    scope: dict[str, Any] = {"path": path, "query_string": query.encode()}
    return target_refusal(scope)


@pytest.mark.parametrize("path", [CALLBACK, "/connected", "/connect/x", "/healthz", "/nowhere", "{servers}", "/%20"])
def test_a_query_that_is_too_long_gets_a_414(world: PopulatedWorkspace, path: str) -> None:
    for caller in (world.workspace.admin, world.workspace.plugboard.caller()):
        response = caller.get(path.format(servers=world.workspace.servers) + "?q=" + "a" * MAX_QUERY)

        assert_problem(response, 414, "uri_too_long")
        assert response.headers["X-Request-Id"]
        assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/connect/", "/client-metadata/", "/", f"/api/workspaces/{'a' * 40}/agents/"])
@pytest.mark.parametrize("text", ["Z" * MAX_PATH, quote("Ж" * 1100), FLAG + "Z" * 1100], ids=len)
def test_a_path_that_is_too_long_gets_a_414(world: PopulatedWorkspace, path: str, text: str) -> None:
    assert_problem(world.workspace.plugboard.caller().get(path + text), 414, "uri_too_long")


def test_head_gets_no_body_with_a_414(world: PopulatedWorkspace) -> None:
    response = world.workspace.admin.head(f"/healthz?{'a' * (MAX_QUERY + 1)}")

    assert (response.status_code, response.content) == (414, b"")


@pytest.mark.parametrize("query", ["&" * MAX_PARAMETERS, "a&" * 7000, "q=%41&" * 2500, "limit=1&" * 60])
@pytest.mark.parametrize("path", [CALLBACK, "/connected", "{servers}"])
def test_a_query_of_many_parameters_gets_a_422(world: PopulatedWorkspace, path: str, query: str) -> None:
    response = world.workspace.admin.get(path.format(servers=world.workspace.servers) + "?" + query)

    assert_problem(response, 422, "invalid")
    assert response.json()["detail"] == f"A query may have at most {MAX_PARAMETERS} parameters."


def test_a_query_of_fifty_parameters_is_read(workspace: Workspace) -> None:
    unknown = "&".join(f"p{number}=1" for number in range(MAX_PARAMETERS))

    assert workspace.admin.get(f"{workspace.servers}?{'&'.join(['limit=1'] * MAX_PARAMETERS)}").status_code == 200
    assert error_paths(workspace.admin.get(f"{workspace.servers}?{unknown}")) == [f"p{n}" for n in range(20)]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_every_legal_query_is_short_enough(operation: Operation) -> None:
    """With all parameters of an operation, each of the greatest length, in a script of the longest characters."""
    listed = [item for item in operation.described.get("parameters", ()) if item["in"] == "query"]

    assert refusal(operation.path, "&".join(f"{item['name']}={longest(item['schema'])}" for item in listed)) is None


def longest(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return max(map(str, schema["enum"]), key=len)
    is_cursor = schema.get("maxLength") == 600
    return "c" * 600 if is_cursor else FLAG * schema.get("maxLength", 100)


def test_queries_of_strangers_take_no_memory(workspace: Workspace) -> None:
    """As long as they may be, each one another."""
    stranger = workspace.plugboard.caller()

    def send(numbers: range) -> None:
        for number in numbers:
            rest = "&".join(f"{number:04d}{index:04d}" + "v" * 300 for index in range(MAX_PARAMETERS - 1))
            assert stranger.get(f"/connected?{rest}").status_code == 400

    send(range(5))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        send(range(5, MANY))
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert grown < MEGABYTE


def test_the_limits_cost_little() -> None:
    """On the path of every request, where a query of 60 kB took 78 ms to parse."""
    long, scope = "a&" * 30_000, {"path": f"/api/workspaces/{'a' * 23}/agents", "query_string": b""}

    assert cpu_seconds(lambda: [target_refusal(scope) for _ in range(1000)]) < 0.005
    assert cpu_seconds(lambda: refusal(query=long)) < 0.001
