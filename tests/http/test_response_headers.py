"""What every answer carries and what of every request is written down."""

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from api.http.middleware import RequestMiddleware
from api.kit.logs import RequestLine, RequestLog
from api.main.app import create_app
from tests.harness import Workspace, caller, listening
from tests.http.operations_on_workspace import OPERATIONS, PopulatedWorkspace

SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}


@contextmanager
def logging_to(stream: io.StringIO, world: PopulatedWorkspace) -> Iterator[str]:
    """The same Plugboard once more, with a log. All is written when it has ended."""
    with listening(create_app(world.workspace.plugboard.settings, access_log=RequestLog(stream))) as url:
        yield url


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/nope", 404),
        ("PATCH", "/healthz", 405),
        ("GET", "/api/services", 401),
        ("OPTIONS", "/api/services", 204),
        ("HEAD", "/healthz", 200),
    ],
)
def test_every_response_has_security_headers_and_forbids_caching(
    world: PopulatedWorkspace, method: str, path: str, status: int
) -> None:
    response = world.workspace.plugboard.caller().request(method, path)

    assert response.status_code == status
    assert {name: response.headers.get_list(name) for name in SAFE} == {name: [value] for name, value in SAFE.items()}
    assert re.fullmatch("[0-9a-f]{24}", response.headers["X-Request-Id"])


@pytest.mark.parametrize("value", ["my-request-1", "x" * 64, "A.b_c-d.8"])
def test_a_callers_request_id_is_kept(world: PopulatedWorkspace, value: str) -> None:
    response = world.workspace.plugboard.caller().get("/healthz", headers={"X-Request-Id": value})

    assert response.headers.get_list("X-Request-Id") == [value]


def test_no_two_requests_have_the_same_id(world: PopulatedWorkspace) -> None:
    stranger = world.workspace.plugboard.caller()

    assert len({stranger.get("/healthz").headers["X-Request-Id"] for _ in range(20)}) == 20


def test_the_request_id_leads_to_the_audit_record(workspace: Workspace) -> None:
    response = workspace.admin.post(workspace.agents, json={"name": "A"}, headers={"X-Request-Id": "find-me-again"})

    assert response.headers["X-Request-Id"] == "find-me-again"
    assert workspace.admin.get(workspace.audit).json()[0]["requestId"] == "find-me-again"


def test_a_request_is_a_line_in_the_log(world: PopulatedWorkspace) -> None:
    stream = io.StringIO()
    with logging_to(stream, world) as url, caller(url, world.workspace.key) as admin:
        response = admin.get(f"{world.workspace.servers}?q=canary")

    (line,) = lines(stream)
    assert line.pop("ms") > 0
    assert line.pop("bytes") == len(response.content)
    assert line.pop("at").endswith("Z")
    assert line.pop("key").startswith("key_")
    assert line == {
        "level": "info",
        "logger": "plugboard.request",
        "message": "request",
        "request_id": response.headers["X-Request-Id"],
        "method": "GET",
        "route": "/api/workspaces/{workspace_id}/mcp-servers",
        "status": 200,
        "client_address": "127.0.0.1",
        "workspace": world.workspace.id,
    }


def test_the_log_line_of_a_refused_request_names_no_principal(world: PopulatedWorkspace) -> None:
    stream = io.StringIO()
    with logging_to(stream, world) as url, caller(url, "pb_canary") as stranger:
        stranger.get(world.workspace.servers)
        stranger.head("/healthz")

    refused, head = lines(stream)
    assert (refused["status"], refused["method"]) == (401, "GET")
    assert not {"workspace", "key"} & refused.keys()
    assert (head["status"], head["method"], head["route"]) == (200, "HEAD", "/healthz")


@pytest.mark.requirement("ENC-13")
def test_no_log_line_contains_input_of_a_caller(world: PopulatedWorkspace) -> None:
    stream = io.StringIO()
    headers = {"X-Canary": "canary-7f", "Cookie": "canary-7f", "X-Request-Id": "canary 7f"}

    with logging_to(stream, world) as url, caller(url, "pb_canary-7f", **headers) as stranger:
        for operation in OPERATIONS:
            path = operation.path.format(**dict.fromkeys(world.ids, "canary-7f"))
            stranger.request(operation.method, f"{path}?canary-7f=canary-7f", json={"canary-7f": "canary-7f"})

    assert len(lines(stream)) == len(OPERATIONS)
    assert "canary" not in stream.getvalue()


async def test_other_scopes_than_http_pass_through() -> None:
    seen: list[str] = []

    async def app(scope: Any, *_: Any) -> None:
        seen.append(scope["type"])

    await RequestMiddleware(app)({"type": "lifespan"}, None, None)  # type: ignore[arg-type]

    assert seen == ["lifespan"]


async def test_a_request_that_fails_unexpectedly_is_logged() -> None:
    noted: list[RequestLine] = []

    async def app(*_: Any) -> None:
        raise RuntimeError("canary")

    scope: Any = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}

    with pytest.raises(RuntimeError):
        await RequestMiddleware(app, noted.append)(scope, None, None)  # type: ignore[arg-type]

    assert [line.status for line in noted] == [0]
    assert "canary" not in str(noted)
