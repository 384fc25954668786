"""Several processes on one database: what is connected in one serves in all, and is forgotten in all."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from demo.oauth_provider.server import OAuthProvider
from tests.conformance.browser import Browser
from tests.e2e.process import Process, serving
from tests.harness import caller

WORKERS = 2
AT_ONCE, MOST_CALLS = 8, 400
PREFIX = 12
"""Of a request's id, what says which process has answered."""

Json = dict[str, Any]


def request(process: Process, method: str, path: str, body: Json | None = None) -> httpx2.Response:
    """On a connection of its own: it may come to any of the processes."""
    with caller(process.url, process.key()) as client:
        return client.request(method, f"/api/workspaces/{process.workspace_id()}{path}", json=body)


def create(process: Process, path: str, body: Json) -> str:
    answer = request(process, "POST", path, body)
    assert answer.status_code == 201, answer.text
    found: str = answer.json()["id"]
    return found


def connect(process: Process, server: str) -> None:
    told = request(process, "GET", f"/mcp-servers/{server}/oauth/authorize").json()
    assert Browser(process.url, process.url).connect(told["authUrl"]) == {"connected": server}


def calls(process: Process, agent: str) -> list[Json]:
    """Many at once, until each of the processes has answered some."""
    body = {"toolName": "mcp_remote_whoami", "args": {}}
    answers: list[httpx2.Response] = []

    def called(_: int) -> httpx2.Response:
        return request(process, "POST", f"/agents/{agent}/tool-calls", body)

    with ThreadPoolExecutor(AT_ONCE) as several:
        while len({each.headers["X-Request-Id"][:PREFIX] for each in answers}) < WORKERS:
            assert len(answers) < MOST_CALLS, "one process answers everything"
            answers += several.map(called, range(AT_ONCE))
    return [each.json() for each in answers]


def generations(called: list[Json]) -> set[int]:
    return {json.loads(each["text"])["generation"] for each in called}


@pytest.mark.requirement("OAU-13", "OAU-15")
def test_a_connection_created_in_one_process_works_in_all(provider: OAuthProvider, tmp_path: Path) -> None:
    acme = provider.tenant("acme")
    with serving(tmp_path / "var", PLUGBOARD_WORKERS=WORKERS, **provider.environment()) as process:
        fields = {"name": "Remote", "slug": "remote", "url": acme.mcp_url, "authType": "oauth", "config": {}}
        server = create(process, "/mcp-servers", fields)
        agent = create(process, "/agents", {"name": "Support", "enabledMcpServerIds": [server]})
        connect(process, server)

        assert generations(calls(process, agent)) == {0}

        acme.expire_tokens()
        assert generations(calls(process, agent)) == {1}
        assert (acme.counts["refreshes"], acme.counts["reuses"]) == (1, 0)

        assert request(process, "POST", f"/mcp-servers/{server}/oauth/disconnect").status_code == 200
        assert {each["error"]["kind"] for each in calls(process, agent)} == {"not_connected"}

    assert "Traceback" not in process.log()
