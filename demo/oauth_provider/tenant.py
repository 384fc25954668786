"""One fake authorization server, with what tests control and observe of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from demo.oauth_provider.faults import Fault, Gate
from demo.oauth_provider.grants import Grants
from demo.oauth_provider.http import Json, Request
from demo.oauth_provider.model import Behaviour, Client, Family, Kind

PATIENCE_SECONDS = 20.0


@dataclass
class RecordedRequest:
    """A request and the status of its response, which is None before the response or if the connection was closed."""

    tenant: str
    endpoint: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    fields: Json
    body: str
    status: int | None = None


class Tenant:
    def __init__(self, name: str, origin: str, lock: threading.RLock, client: Client | None = None) -> None:
        self.name, self.origin = name, origin
        self.grants = Grants()
        self.clients: dict[str, Client] = {client.id: client} if client else {}
        self.recorded_requests: list[RecordedRequest] = []
        self._own_client = client.id if client else ""
        self._lock, self._gate = lock, Gate()
        self._faults: dict[str, list[tuple[Fault, int | None]]] = {}

    @property
    def mcp_url(self) -> str:
        return f"{self.origin}/mcp/{self.name}"

    @property
    def issuer(self) -> str:
        return self.origin if self.behaviour.at_root else f"{self.origin}/mcp-as/{self.name}"

    @property
    def authorization_servers(self) -> tuple[str, ...]:
        """The authorization servers that its MCP server trusts."""
        return self.behaviour.authorization_servers or (self.issuer,)

    @property
    def behaviour(self) -> Behaviour:
        return self.grants.behaviour

    def configure(self, **changes: Any) -> None:
        tuples: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in changes.items()
        }
        with self._lock:
            self.grants.behaviour = replace(self.grants.behaviour, **tuples)

    @property
    def client(self) -> Client:
        """The OAuth app of a service."""
        return self.clients[self._own_client]

    @client.setter
    def client(self, client: Client) -> None:
        with self._lock:
            self.clients.pop(self._own_client, None)
            self.clients[client.id], self._own_client = client, client.id

    def add_client(
        self,
        id: str,  # noqa: A002  it is called so everywhere
        *,
        secret: str | None = None,
        auth: str | None = None,
        redirect_uris: tuple[str, ...] | None = None,
        grants: tuple[str, ...] = ("authorization_code", "refresh_token"),
        public_key: str | None = None,
    ) -> Client:
        usual = "client_secret_basic" if secret else "private_key_jwt" if public_key else "none"
        client = Client(id, secret, (auth or usual,), tuple(redirect_uris or ("*",)), tuple(grants), public_key)
        with self._lock:
            self.clients[id] = client
        return client

    def inject_fault(self, endpoint: str, fault: Fault, times: int | None = 1) -> None:
        """Adds a fault. Faults of an endpoint occur in order."""
        with self._lock:
            self._faults.setdefault(endpoint, []).append((fault, times))

    def clear_faults(self) -> None:
        with self._lock:
            self._faults.clear()

    def expire_tokens(self, refresh: bool = False) -> None:
        with self._lock:
            for kind in ("access", "refresh") if refresh else ("access",):
                self.grants.expire(kind)

    def revoke_grants(self) -> None:
        with self._lock:
            for family in self.families:
                family.is_revoked = True

    @property
    def counts(self) -> Counter[str]:
        return self.grants.counts

    @property
    def families(self) -> list[Family]:
        return self.grants.families

    @property
    def request_counts(self) -> Counter[str]:
        with self._lock:
            return Counter(request.endpoint for request in self.recorded_requests)

    def requests_to(self, endpoint: str) -> list[RecordedRequest]:
        with self._lock:
            return [request for request in self.recorded_requests if request.endpoint == endpoint]

    def live_tokens(self, kind: Kind) -> list[str]:
        with self._lock:
            return self.grants.live_tokens(kind)

    def held_count(self, endpoint: str) -> int:
        return self._gate.held_count(endpoint)

    def wait_until_held(self, endpoint: str, n: int = 1) -> None:
        self._gate.wait_until_held(endpoint, n, PATIENCE_SECONDS)

    def release_held(self) -> None:
        self._gate.release()

    async def delay(self, endpoint: str, fault: Fault) -> None:
        await self._gate.wait(endpoint, fault.seconds if fault.kind == "slow" else None)

    def next_fault(self, endpoint: str) -> Fault | None:
        with self._lock:
            waiting = self._faults.get(endpoint)
            if not waiting:
                return None
            fault, times = waiting.pop(0)
            if times is None or times > 1:
                waiting.insert(0, (fault, None if times is None else times - 1))
            return fault

    def record(self, endpoint: str, request: Request) -> RecordedRequest:
        body = request.body.decode("utf-8", "replace")
        seen = RecordedRequest(
            *(self.name, endpoint, request.method, request.path),
            *(request.query, request.headers, request.fields, body),
        )
        with self._lock:
            self.recorded_requests.append(seen)
        return seen

    def state(self) -> Json:
        with self._lock:
            return {
                "behaviour": asdict(self.behaviour),
                "counts": dict(self.counts),
                "requests": dict(self.request_counts),
                "families": [asdict(family) for family in self.families],
                "live": {"access": self.live_tokens("access"), "refresh": self.live_tokens("refresh")},
                "clients": sorted(self.clients),
                "mcpUrl": self.mcp_url,
                "issuer": self.issuer,
            }
