"""What tools are listed and called with, the same for every request of the process."""

from __future__ import annotations

from dataclasses import dataclass, field

from api.audit.journal import CallLog
from api.kit.clock import Clock
from api.kit.deadline import Ticker
from api.kit.http_client.client import Outbound
from api.kit.metrics import Metrics
from api.servers.service import Server
from api.toolbox.calling.bulkheads import Bulkheads
from api.toolbox.calling.circuit_breakers import Breaker, Breakers, Health
from api.toolbox.credentials.static import Credentials
from api.toolbox.listing.caches import KnownLists, KnownToolboxes
from api.toolbox.toolsets.registry import Toolsets
from api.toolbox.toolsets.service_directory import Vendors


@dataclass(frozen=True, slots=True)
class Works:
    toolsets: Toolsets
    credentials: Credentials
    vendors: Vendors
    outbound: Outbound
    breakers: Breakers
    bulkheads: Bulkheads
    call_log: CallLog
    metrics: Metrics
    clock: Clock
    ticker: Ticker
    toolboxes: KnownToolboxes = field(default_factory=KnownToolboxes)
    lists: KnownLists = field(default_factory=KnownLists)

    def breaker(self, workspace_id: str, server: Server) -> Breaker:
        """A server that was changed begins anew."""
        return self.breakers.of(workspace_id, _state_of(server))

    def health(self, workspace_id: str, server: Server) -> Health:
        return self.breakers.shown(workspace_id, _state_of(server))


def _state_of(server: Server) -> str:
    return f"{server.id} {server.version}"
