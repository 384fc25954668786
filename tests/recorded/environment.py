"""The environment of one script: a Plugboard on an empty database, with a clock that stands still, among fakes."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.main.settings import Settings
from demo.mcp_servers import FakeMcpServer
from demo.oauth_provider.server import Fault, OAuthProvider, oauth_provider
from tests.fakes.still_clock import StillClock
from tests.fakes.upstream_host import UpstreamHost
from tests.harness import Plugboard, listening, served
from tests.operations import SOME_IDS
from tests.recorded.script import ProviderChange
from tests.recorded.upstreams import upstreams

KEYS = {"manage": "manage", "read": "read", "invoke": "invoke", "revoked": "admin", "expired": "admin"}
MOST_WORKSPACES = 12
EXPIRY, EXPIRED_SECONDS = "2027-01-15T08:01:00Z", 60


@dataclass
class Environment:
    plugboard: Plugboard
    clock: StillClock
    provider: OAuthProvider
    fakes: Mapping[str, FakeMcpServer]
    variables: dict[str, str]

    def change(self, step: ProviderChange) -> None:
        tenant = self.provider.tenant(step.tenant)
        tenant.configure(**step.behave)
        if step.client:
            tenant.add_client(**step.client)
        if step.heal:
            tenant.clear_faults()
        if step.fault:
            kind = {name: value for name, value in step.fault.items() if name not in ("endpoint", "times")}
            tenant.inject_fault(step.fault["endpoint"], Fault(**kind), step.fault.get("times", 1))
        if step.expire:
            tenant.expire_tokens()
        if step.forget:
            tenant.revoke_grants()


@contextmanager
def open_environment(data_dir: Path) -> Iterator[Environment]:
    with ExitStack() as stack:
        street = _Street()
        street.url = stack.enter_context(listening(street))
        provider = stack.enter_context(oauth_provider())
        clock, fakes = StillClock(), upstreams()
        plugboard = stack.enter_context(served(_settings(provider, data_dir), clock))
        variables = {
            **{f"{name}_url": f"{street.mount(fake)}/mcp" for name, fake in fakes.items()},
            **{f"no_{name.removesuffix('Id')}": text for name, text in SOME_IDS.items()},
            **_credentials(plugboard, clock),
            "closed_url": f"http://127.0.0.1:{stack.enter_context(_closed_port())}/mcp",
            "acme_url": provider.tenant("acme").mcp_url,
            "provider": provider.origin,
        }
        yield Environment(plugboard, clock, provider, fakes, variables)


class _Street(UpstreamHost):
    """Answers 404 at its root, where clients look for metadata."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not scope["path"].startswith("/house-"):
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
        else:
            await super().__call__(scope, receive, send)


def _settings(provider: OAuthProvider, data_dir: Path) -> Settings:
    own = {
        "PLUGBOARD_DATA_DIR": str(data_dir),
        "PLUGBOARD_RETURN_ORIGINS": "https://console.example.com",
        "PLUGBOARD_MAX_WORKSPACES": str(MOST_WORKSPACES),
    }
    return Settings.from_environment(provider.environment() | own)


@contextmanager
def _closed_port() -> Iterator[int]:
    """A port that is taken but refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def _credentials(plugboard: Plugboard, clock: StillClock) -> dict[str, str]:
    """A workspace with a key of each kind, and another workspace's admin. All are made at different times."""
    workspace = plugboard.make_workspace("Recorded")
    clock.advance(1)
    foreign = plugboard.make_workspace("Foreign")
    keys = {}
    for name, scope in KEYS.items():
        clock.advance(1)
        keys[name] = workspace.make_key(scope, name=name, expiresAt=EXPIRY if name == "expired" else None)
    clock.advance(1)
    workspace.admin.delete(f"{workspace.api_keys}/{keys['revoked']['id']}").raise_for_status()
    clock.advance(EXPIRED_SECONDS)
    return {
        **{f"{name}_key": key["apiKey"] for name, key in keys.items()},
        **{f"{name}_key_id": key["id"] for name, key in keys.items()},
        "admin_key": workspace.key,
        "foreign_key": foreign.key,
        "operator_key": plugboard.operator_key,
        "workspace": workspace.id,
        "foreign": foreign.id,
        "malformed_key": "pb_malformed",
    }
