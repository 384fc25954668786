"""Servers are connected in every way, and what has to stay secret is searched for everywhere it could come out."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from api.main.settings import Settings
from demo.oauth_provider.server import Fault, OAuthProvider
from tests.connections.browser_flow import ConnectableServer, ConsentBrowser, mcp_server, result_of, service
from tests.connections.workspace_owner import wait_until
from tests.e2e.process import Process, serving
from tests.harness import Plugboard, Workspace

SECRET = "canary-secret-of-a-client"


@dataclass
class ObservedProcess:
    """A Plugboard in a process of its own, and all that was secret in what was done with it."""

    process: Process
    data: Path
    workspace: Workspace
    secrets: set[str] = field(default_factory=set)
    landed: list[httpx2.Response] = field(default_factory=list)
    on_the_way: list[bytes] = field(default_factory=list)

    @property
    def plugboard(self) -> Plugboard:
        return self.workspace.plugboard

    def connect(self, server: ConnectableServer, **changed: str | None) -> dict[str, str]:
        visitor, page = ConsentBrowser(self.plugboard), server.page()
        callback = visitor.consent(page)
        self.secrets |= {page.rpartition("/")[2], callback["state"], callback["code"], *visitor.cookies.values()}
        response = visitor.land(callback.with_params(**changed) if changed else callback)
        self.landed += [response, visitor.sent("GET", response.headers["Location"]), visitor.land(callback)]
        return result_of(response)

    def connect_slowly(self, server: ConnectableServer) -> None:
        """What is stored of it in between goes again, so it is looked at on the way."""
        visitor, page = ConsentBrowser(self.plugboard), server.page()
        self.on_the_way.append(self.stored())
        callback = visitor.consent(page)
        self.on_the_way.append(self.stored())
        self.secrets |= {page.rpartition("/")[2], callback["state"], callback["code"], *visitor.cookies.values()}
        assert result_of(visitor.land(callback)) == {"connected": server.id}

    def stored(self) -> bytes:
        return b"".join(file.read_bytes() for file in self.data.rglob("*") if file.is_file())


@pytest.fixture
def watched(provider: OAuthProvider, tmp_path: Path) -> Iterator[ObservedProcess]:
    data, environment = tmp_path / "var", provider.environment()
    with serving(data, **environment) as process, process.caller(process.key()) as admin:
        plugboard = Plugboard(process.url, Settings(), "")
        yield ObservedProcess(process, data, Workspace(plugboard, process.workspace_id(), process.key(), admin))
        plugboard.close()


def spellings(text: str) -> Iterable[bytes]:
    encoded = text.encode()
    pairs = [f"{name}-client:{text}".encode() for name in ("notion", "linear", "hubspot", "slack")]
    plain = base64.b64encode(encoded).rstrip(b"=")[:-1]
    return (encoded, encoded.hex().encode(), plain, *(base64.b64encode(pair) for pair in pairs))


@pytest.mark.requirement("OAU-20", "ENC-13")
def test_no_token_code_verifier_secret_state_or_ticket_leaks(watched: ObservedProcess, provider: OAuthProvider) -> None:
    workspace, plugboard = watched.workspace, watched.plugboard
    acme, beta, gone = provider.tenant("acme"), provider.tenant("beta"), provider.tenant("gone")
    acme.configure(auth_methods=("client_secret_basic",))
    beta.add_client("ours", secret=SECRET)
    remote = mcp_server(plugboard, acme, workspace)
    values = mcp_server(plugboard, beta, workspace, config={"clientId": "ours", "clientSecret": SECRET})
    left = mcp_server(plugboard, gone, workspace)
    services = [service(plugboard, provider, kind, workspace) for kind in ("notion", "linear", "hubspot", "slack")]

    for server in (remote, values, left, *services):
        assert watched.connect(server) == {"connected": server.id}
    assert watched.connect(remote, code=None, error="access_denied") == {"error": "denied"}
    assert watched.connect(remote, iss="https://evil.example") == {"error": "wrong_issuer"}
    acme.inject_fault("token", Fault("down"))
    assert watched.connect(remote) == {"error": "unavailable"}
    watched.connect_slowly(remote)
    for tenant, server in ((acme, remote), (beta, values)):
        tenant.expire_tokens()
        assert server.call()["isError"] is False
    gone.inject_fault("revoke", Fault("down"), times=None)
    workspace.admin.post(f"{left.path}/oauth/disconnect")
    wait_until(lambda: gone.request_counts["revoke"] > 0)  # what waits for the provider is stored by now
    beta.revoke_grants()
    assert values.call()["error"]["kind"] == "reconnect_required"

    gather(watched, provider)
    search(watched, [remote, values, left, *services])


def gather(watched: ObservedProcess, provider: OAuthProvider) -> None:
    """Collects every secret that was sent to or received from a provider."""
    names = ("code", "code_verifier", "refresh_token", "client_secret", "token", "access_token")
    for request in provider.recorded_requests:
        watched.secrets |= {str(request.fields[name]) for name in names if name in request.fields}
        watched.secrets |= {
            request.headers[name].partition(" ")[2] for name in ("authorization",) if name in request.headers
        }
    for name in ("acme", "beta", "gone", "notion", "linear", "hubspot", "slack"):
        tenant = provider.tenant(name)
        watched.secrets |= {*tenant.live_tokens("access"), *tenant.live_tokens("refresh")}
        watched.secrets |= {client.secret for client in tenant.clients.values() if client.secret}
    assert len(watched.secrets) > 60
    assert {SECRET, "canary-notion-secret"} <= watched.secrets
    assert all(len(secret) >= 15 for secret in watched.secrets)


def search(watched: ObservedProcess, servers: list[ConnectableServer]) -> None:
    admin, workspace = watched.workspace.admin, watched.workspace
    told_of = [server.path for server in servers] + [f"{server.path}/oauth/status" for server in servers]
    told_of += [f"{workspace.audit}?limit=100", workspace.servers, f"{workspace.agents}", "/metrics", "/openapi.yaml"]
    responses = [*watched.landed, *(admin.get(path) for path in told_of)]
    shown = [
        f"{response.text} {response.headers} {response.headers.get('Location')}".encode() for response in responses
    ]
    places = {
        "log": watched.process.log().encode(),
        "output": watched.process.output().encode(),
        "answers": b"\n".join(shown),
        "data": watched.stored() + b"".join(watched.on_the_way),
    }

    results = [
        (place, secret)
        for place, text in places.items()
        for secret in watched.secrets
        for spelling in spellings(secret)
        if spelling in text
    ]

    assert not results
    assert len(places["data"]) > 100_000
    lines = [json.loads(line) for line in watched.process.log().splitlines()]
    assert "/connect/{ticket}" in {line.get("route") for line in lines}
    assert "/api/mcp/oauth/{service_type}/callback" in {line.get("route") for line in lines}
    assert [line["message"] for line in lines if "not connected" in line["message"]][:3] == [
        "not connected: expired",
        "not connected: expired",
        "not connected: expired",
    ]
