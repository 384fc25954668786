"""One secret of each kind goes in, in every way that it can, and is searched for everywhere it could come out."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.process import Process, serving
from tests.operations import OPERATIONS

CANARY = "c4n4ry"
URL = "https://api.weather.example.com/mcp"
POSTHOG = {"serviceType": "posthog", "url": "https://us.posthog.com"}

GOOD: list[dict[str, Any]] = [
    {"authType": "header", "config": {"headerValue": f"Bearer {CANARY}-header-value"}},
    {"authType": "header", "config": {"headers": {"X-Token": f"{CANARY}-in-headers", "X-Other": f"{CANARY}-other"}}},
    {"authType": "basic", "config": {"username": f"{CANARY}-user", "password": f"{CANARY}-password"}},
    {"authType": "basic", "config": {"username": f"{CANARY}-alone", "password": ""}},
    {"authType": "header", "config": {"apiKey": f"phx_{CANARY}posthog"}, **POSTHOG},
]
BAD: list[Any] = [
    {"authType": "none", "config": {"headerValue": f"{CANARY}-not-taken"}},
    {"authType": "oauth", "config": {"apiKey": f"{CANARY}-not-taken"}},
    {"authType": "basic", "config": {"headerValue": f"{CANARY}-not-taken"}},
    {"authType": "header", "config": f"{CANARY}-no-object"},
    {"authType": "header", "config": {"headerValue": [f"{CANARY}-no-text"]}},
    {"authType": "header", "config": {"headerValue": {"inside": f"{CANARY}-no-text"}}},
    {"authType": "header", "config": {"headerValue": f"{CANARY}-line\r\nX-Injected: 1"}},
    {"authType": "header", "config": {"headerValue": f"{CANARY}-long" * 1000}},
    {"authType": "header", "config": {"headers": {"X-Token": f"{CANARY}-line\nend"}}},
    {"authType": "header", "config": {"headers": {"Host": f"{CANARY}-of-host"}}},
    {"authType": "header", "config": {"headers": [f"{CANARY}-no-object"]}},
    {"authType": "basic", "config": {"username": f"{CANARY}:colon", "password": f"{CANARY}-password"}},
    {"authType": "basic", "config": {"password": f"{CANARY}-only"}},
    {"authType": "header", "config": {"token": f"{CANARY}-unknown-field"}},
    {"authType": "header", "headerValue": f"{CANARY}-outside"},
    {"authType": "header", "apiKey": f"{CANARY}-outside", "config": {"headerValue": "x"}},
    {"authType": f"{CANARY}-type", "config": {}},
    {"authType": "none", "serviceType": f"{CANARY}_SERVICE"},
    {"authType": "none", "url": f"https://user:{CANARY}@api.example.com/"},
    {"authType": "none", "url": f"http://{CANARY}.example.com/"},
    {"authType": "none", "enabled": f"{CANARY}-no-flag"},
    {"authType": "none", "timeoutSeconds": f"{CANARY}-no-number"},
    {"authType": "none", "slug": f"{CANARY} NO SLUG"},
    {
        "authType": "header",
        "config": {"apiKey": f"phx_{CANARY}"},
        "serviceType": "posthog",
        "url": "https://evil.example.com",
    },
    [f"{CANARY}-list"],
    f"{CANARY}-text",
]
UNREADABLE = [
    f'{{"name": "x", "config": {{"headerValue": "{CANARY}-cut'.encode(),
    f'{{"config": {{"headerValue": "{CANARY}", "headerValue": "{CANARY}-twice"}}}}'.encode(),
    f'{{"config": {{"headerValue": {CANARY}}}}}'.encode(),
    f'{{"config": "{CANARY}-'.encode() + b'\xff"}',
    f"config={CANARY}-form".encode(),
]

# A server with its own credential has no connection, and its page shows none.
ANSWERED = {"connectServer": {409}, "getConnection": {409}, "showConnected": {400}}


@dataclass
class SentRequests:
    """The answers that came, and what was sent where a secret belongs."""

    process: Process
    data: Path
    admin: httpx2.Client
    path: str
    answers: list[httpx2.Response] = field(default_factory=list)

    def send(self, method: str, path: str, **what: Any) -> httpx2.Response:
        self.answers.append(self.admin.request(method, path, **what))
        return self.answers[-1]


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SentRequests]:
    data = tmp_path_factory.mktemp("canary") / "var"
    with serving(data) as process, process.caller(process.key()) as admin:
        yield SentRequests(process, data, admin, f"/api/workspaces/{process.workspace_id()}")


@pytest.mark.requirement("ENC-13", "ENC-17", "ENC-18", "AUD-04")
def test_no_secret_leaks(sent: SentRequests) -> None:
    servers = f"{sent.path}/mcp-servers"
    created = [sent.send("POST", servers, json={"name": "s", "url": URL} | body) for body in GOOD]
    assert [answer.status_code for answer in created] == [201] * len(GOOD)
    for response in created:
        for body in GOOD:
            changed = sent.send(
                "PUT", response.headers["Location"], json={"serviceType": "external", "url": URL} | body
            )
            assert changed.status_code == 200, changed.text
    for body in GOOD:
        key = {"Idempotency-Key": f"again-{GOOD.index(body)}"}
        for _ in range(2):
            assert sent.send("POST", servers, json={"name": "s", "url": URL} | body, headers=key).status_code == 201

    for method, path in (("POST", servers), ("PUT", created[0].headers["Location"])):
        for body in BAD:
            wrong = {"name": "s", "url": URL} | body if isinstance(body, dict) else body
            response = sent.send(method, path, json=wrong)
            assert response.status_code == 422, (body, response.text)
        for raw in UNREADABLE:
            assert sent.send(method, path, content=raw, headers={"Content-Type": "application/json"}).status_code == 400
        assert (
            sent.send(method, path, content=CANARY.encode(), headers={"Content-Type": "text/plain"}).status_code == 415
        )

    walk(sent, created[0].json()["id"])
    elsewhere(sent)

    for response in sent.answers:
        assert CANARY not in response.text, response.text
        assert CANARY not in str(response.headers)
    search(sent)


def walk(sent: SentRequests, server_id: str) -> None:
    """Every route that reads."""
    agent = sent.send("POST", f"{sent.path}/agents", json={"name": "a", "enabledMcpServerIds": [server_id]}).json()[
        "id"
    ]
    ids = {"workspaceId": sent.path.rpartition("/")[2], "serverId": server_id, "agentId": agent}
    for operation in OPERATIONS:
        if operation.method == "GET" and set(operation.parameters) <= ids.keys():
            response = sent.send("GET", operation.path(ids))
            assert response.status_code in ANSWERED.get(operation.id, {200, 403})
    assert sent.send("DELETE", f"{sent.path}/mcp-servers/{server_id}").status_code == 409


def elsewhere(sent: SentRequests) -> None:
    """Where a secret does not belong and is put by mistake."""
    servers = f"{sent.path}/mcp-servers"
    sent.send("GET", f"{servers}?token={CANARY}&limit={CANARY}")
    sent.send("GET", f"{servers}?cursor={CANARY}")
    sent.send("GET", f"/api/{CANARY}")
    sent.send("GET", f"{servers}/{CANARY}")
    sent.send("GET", servers, headers={"Authorization": f"Bearer {CANARY}"})
    sent.send("GET", servers, headers={"Authorization": f"Bearer {CANARY}", "Cookie": f"session={CANARY}"})
    sent.send("POST", servers, json={}, headers={"Idempotency-Key": f"{CANARY} with a space"})
    sent.send("PATCH", f"{servers}?{CANARY}={CANARY}")


def search(sent: SentRequests) -> None:
    logged, said = sent.process.log(), sent.process.output()
    stored = b"".join(file.read_bytes() for file in sent.data.iterdir())
    plain = [
        f"{CANARY}-user:{CANARY}-password",
        f"{CANARY}-alone:",
        f"Bearer {CANARY}-header-value",
        f"phx_{CANARY}posthog",
    ]
    encoded = [base64.b64encode(text.encode()).decode() for text in plain]
    for text in (CANARY, CANARY.upper(), CANARY.encode().hex(), *encoded, *(item.rstrip("=")[:-1] for item in encoded)):
        assert text not in logged
        assert text not in said
        assert text.encode() not in stored
    assert len(logged.splitlines()) >= len(sent.answers)
    lines = [json.loads(line) for line in logged.splitlines()]
    assert {response.headers["X-Request-Id"] for response in sent.answers} <= {line.get("request_id") for line in lines}
    assert (sent.data / "plugboard.db-wal").exists()
