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
    response = request(process, "POST", path, body)
    assert response.status_code == 201, response.text
    found: str = response.json()["id"]
    return found


def connect(process: Process, server: str) -> None:
    body = request(process, "GET", f"/mcp-servers/{server}/oauth/authorize").json()
    assert Browser(process.url, process.url).connect(body["authUrl"]) == {"connected": server}


def calls(process: Process, agent: str) -> list[Json]:
    """Many at once, until each of the processes has answered some."""
    body = {"toolName": "mcp_remote_whoami", "args": {}}
    responses: list[httpx2.Response] = []

    def called(_: int) -> httpx2.Response:
        return request(process, "POST", f"/agents/{agent}/tool-calls", body)

    with ThreadPoolExecutor(AT_ONCE) as several:
        while len({response.headers["X-Request-Id"][:PREFIX] for response in responses}) < WORKERS:
            assert len(responses) < MOST_CALLS, "one process answers everything"
            responses += several.map(called, range(AT_ONCE))
    return [response.json() for response in responses]


def generations(called: list[Json]) -> set[int]:
    return {json.loads(item["text"])["generation"] for item in called}


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
        assert {call["error"]["kind"] for call in calls(process, agent)} == {"not_connected"}

    assert "Traceback" not in process.log()


@pytest.mark.slow
@pytest.mark.requirement("OAU-15")
def test_a_disconnected_client_requests_no_token_in_any_process(provider: OAuthProvider, tmp_path: Path) -> None:
    acme = provider.tenant("acme")
    acme.add_client("machine", secret="canary-machine", grants=("client_credentials",))
    with serving(tmp_path / "var", PLUGBOARD_WORKERS=WORKERS, **provider.environment()) as process:
        config = {"clientId": "machine", "clientSecret": "canary-machine"}
        fields = {"name": "Remote", "slug": "remote", "url": acme.mcp_url, "authType": "oauth", "config": config}
        server = create(process, "/mcp-servers", fields | {"oauthGrant": "client_credentials"})
        agent = create(process, "/agents", {"name": "Support", "enabledMcpServerIds": [server]})
        assert {call["isError"] for call in calls(process, agent)} == {False}  # each remembers the token

        assert request(process, "POST", f"/mcp-servers/{server}/oauth/disconnect").status_code == 200
        assert {call["error"]["kind"] for call in calls(process, agent)} == {"not_connected"}
        assert acme.counts["client_credentials"] == 1

        assert request(process, "POST", f"/mcp-servers/{server}/oauth/connect").status_code == 200
        assert {call["isError"] for call in calls(process, agent)} == {False}
        assert acme.counts["client_credentials"] == 2

    assert "Traceback" not in process.log()
