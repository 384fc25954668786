"""Plugboard behind the real nginx and Caddy, with the files of `infra/proxies`."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from api.http.event_stream import ServerSentEvent
from api.http.request import MAX_BODY_BYTES
from api.kit.logs import RequestLog
from api.main.settings import Settings
from tests.fakes.event_streams import PATIENCE_SECONDS, ROUTED, streaming
from tests.fakes.tcp_proxy import SilencingProxy, proxy_to
from tests.fakes.tls_proxies import CLIENT_ADDRESS, PROXIES, TlsProxy
from tests.harness import Workspace, served

FORGED = "203.0.113.9"
JSON = {"Content-Type": "application/json"}
START = Callable[[str], AbstractContextManager[TlsProxy]]


@pytest.fixture(params=PROXIES)
def start(request: pytest.FixtureRequest, tmp_path: Path) -> START:
    """Starts the program in front of a URL."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed (Debian has it)")
    folder = tmp_path / "proxy"
    folder.mkdir()
    return lambda url: PROXIES[request.param](folder, url.removeprefix("http://"))


@dataclass(frozen=True)
class Front:
    """A Plugboard and the proxy in front of it."""

    workspace: Workspace
    proxy: TlsProxy
    wire: SilencingProxy
    """Between the proxy and Plugboard."""
    log: io.StringIO

    @property
    def admin(self) -> httpx2.Client:
        return self.proxy.client(self.workspace.key)

    def log_line(self, request_id: str) -> dict[str, object]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return next(line for line in lines if line.get("request_id") == request_id)


@pytest.fixture
def front(start: START, tmp_path: Path) -> Iterator[Front]:
    log, settings = io.StringIO(), Settings(data_dir=tmp_path / "var", trusted_proxies="127.0.0.1")
    with (
        served(settings, access_log=RequestLog(log)) as plugboard,
        proxy_to(plugboard.url) as (wire, url),
        start(url) as proxy,
    ):
        yield Front(plugboard.make_workspace(), proxy, wire, log)


def test_objects_are_made_changed_and_deleted(front: Front) -> None:
    with front.admin as admin:
        created = admin.post(front.workspace.agents, json={"name": "Support"})
        path = created.headers["Location"]
        changed = admin.put(path, json={"name": "Sales"}, headers={"If-Match": created.headers["ETag"]})
        stale = admin.put(path, json={"name": "Late"}, headers={"If-Match": created.headers["ETag"]})
        deleted, missing = admin.delete(path), admin.get(path)

    responses = (created, changed, stale, deleted, missing)
    assert [response.status_code for response in responses] == [201, 200, 412, 204, 404]
    assert stale.headers["Content-Type"] == "application/problem+json"


def test_the_address_of_the_client_is_logged_and_recorded(front: Front) -> None:
    with front.admin as admin:
        created = admin.post(front.workspace.agents, json={"name": "Support"})
        record = admin.get(front.workspace.audit).json()[0]

    assert front.log_line(created.headers["X-Request-Id"])["client_address"] == CLIENT_ADDRESS
    assert (record["action"], record["clientAddress"]) == ("agent.created", CLIENT_ADDRESS)


@pytest.mark.parametrize("forged", [FORGED, f"{FORGED}, 127.0.0.1", "127.0.0.1"])
def test_an_address_that_the_client_writes_is_not_believed(front: Front, forged: str) -> None:
    headers = {"X-Forwarded-For": forged, "X-Real-IP": forged, "Forwarded": f"for={forged}"}
    with front.admin as admin:
        created = admin.post(front.workspace.agents, json={"name": "Support"}, headers=headers)
        record = admin.get(front.workspace.audit).json()[0]

    assert front.log_line(created.headers["X-Request-Id"])["client_address"] == CLIENT_ADDRESS
    assert record["clientAddress"] == CLIENT_ADDRESS


def test_plugboard_itself_answers_bodies_over_its_limit(front: Front) -> None:
    accepted = b'{"name": "Support"}'.ljust(MAX_BODY_BYTES)
    with front.admin as admin:
        created = admin.post(front.workspace.agents, content=accepted, headers=JSON)
        refused = admin.post(front.workspace.agents, content=accepted + b" ", headers=JSON)

    assert (created.status_code, refused.status_code) == (201, 413)
    assert refused.json()["code"] == "too_large"


@pytest.mark.parametrize("size", [3 * MAX_BODY_BYTES, 64 * MAX_BODY_BYTES])
def test_a_body_far_over_the_limit_gets_413_too(front: Front, size: int) -> None:
    with front.admin as admin:
        refused = admin.post(front.workspace.agents, content=bytes(size), headers=JSON)
        assert admin.get("/healthz").status_code == 200

    assert refused.status_code == 413


def test_connections_to_plugboard_are_used_again(front: Front) -> None:
    before = front.wire.connections
    with front.admin as admin:
        statuses = {admin.get("/healthz").status_code for _ in range(20)}
        statuses |= {admin.post(front.workspace.agents, json={"name": f"Agent {n}"}).status_code for n in range(5)}

    assert statuses == {200, 201}
    assert front.wire.connections - before == 1


def test_the_proxy_logs_no_query_and_no_ticket(front: Front) -> None:
    with front.admin as admin:
        admin.get("/api/mcp/oauth/notion/callback?code=canary-code&state=canary-state")
        admin.get("/connect/canary-ticket")

    assert "canary" not in front.proxy.log


def test_events_pass_one_by_one_and_a_client_that_leaves_ends_them(start: START, tmp_path: Path) -> None:
    with streaming(ROUTED, tmp_path) as stream, start(stream.url) as proxy, proxy.client() as client:
        with client.stream("GET", stream.path, headers={"Accept-Encoding": "gzip, br"}) as response:
            received = response.iter_raw()
            for number in range(3):
                event = ServerSentEvent(str(number))
                stream.put(event)
                assert next(received) == event.encode(), "before there is a next event"

        assert stream.closed.wait(PATIENCE_SECONDS)


def test_a_large_response_arrives_whole(front: Front) -> None:
    text = "x" * 8000
    with front.admin as admin:
        for number in range(60):
            draft = {"name": f"Agent {number}", "instructions": text}
            assert admin.post(front.workspace.agents, json=draft).status_code == 201
        through = admin.get(f"{front.workspace.agents}?limit=100")

    assert len(through.content) > 400_000
    assert through.content == front.workspace.admin.get(f"{front.workspace.agents}?limit=100").content
