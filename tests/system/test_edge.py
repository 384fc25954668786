"""What every answer carries, whatever it answers."""

from __future__ import annotations

import re

import pytest

from tests.harness import Workspace
from tests.operations import OPERATIONS, SOME_IDS, Operation

SAFE = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
}
PUBLISHED = {
    "getContract": "no-cache",
    "getDocs": "no-cache",
    "getDocsFile": "public, max-age=31536000, immutable",
}
"""By operation, the caching of what is the same for everybody."""


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_every_response_has_a_request_id_and_security_headers(workspace: Workspace, operation: Operation) -> None:
    for caller in (workspace.admin, workspace.plugboard.caller()):
        response = operation.send(caller, {**SOME_IDS, "workspaceId": "ws_3kq8v0zj5m1t7r2x9c4b"})

        assert re.fullmatch(r"[0-9a-f]{24}", response.headers["X-Request-Id"])
        cached = {"cache-control": PUBLISHED[operation.id]} if operation.id in PUBLISHED else {}
        assert {name: response.headers[name] for name in SAFE} == SAFE | cached
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]


def test_no_two_requests_have_the_same_id(workspace: Workspace) -> None:
    ids = {workspace.admin.get("/healthz").headers["X-Request-Id"] for _ in range(20)}

    assert len(ids) == 20


@pytest.mark.parametrize("value", ["0123abcd", "a" * 64, "deploy_7.2-rc.1"])
def test_a_caller_may_set_the_request_id(workspace: Workspace, value: str) -> None:
    for path in (workspace.servers, "/nowhere", "/healthz"):
        assert workspace.admin.get(path, headers={"X-Request-Id": value}).headers["X-Request-Id"] == value


@pytest.mark.parametrize(
    "value", ["short", "a" * 65, "with space", 'quote"quote', "<script>alert", "ünïcödé1", "tab\ttab9"]
)
def test_an_unsafe_request_id_is_replaced(workspace: Workspace, value: str) -> None:
    response = workspace.admin.get("/healthz", headers=[(b"X-Request-Id", value.encode())])

    assert re.fullmatch(r"[0-9a-f]{24}", response.headers["X-Request-Id"])


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/api", 404, "not_found"),
        ("GET", "/api/workspaces/x/y/z", 404, "not_found"),
        ("PATCH", "/api/workspaces", 405, "method_not_allowed"),
        ("DELETE", "/healthz", 405, "method_not_allowed"),
    ],
)
def test_a_missing_path_is_a_problem_document(
    workspace: Workspace, method: str, path: str, status: int, code: str
) -> None:
    response = workspace.admin.request(method, path)

    assert (response.status_code, response.headers["Content-Type"]) == (status, "application/problem+json")
    assert response.json()["code"] == code
    assert response.json()["type"] == f"urn:plugboard:problem:{code}"
