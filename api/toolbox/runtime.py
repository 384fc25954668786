"""The components that all requests of a process share to list and call tools."""

from __future__ import annotations

from dataclasses import dataclass

from api.audit.call_log import CallLog
from api.kit.clock import Clock
from api.kit.deadline import Ticker
from api.kit.http_client.client import HttpClient
from api.kit.metrics import Metrics
from api.servers.server import Server
from api.toolbox.calling.bulkheads import Bulkheads
from api.toolbox.calling.circuit_breakers import BreakerHealth, CircuitBreaker, CircuitBreakers
from api.toolbox.listing.caches import RenderedListCache, ToolboxCache
from api.toolbox.metrics import ToolCallCollector
from api.toolbox.toolsets.registry import ToolsetRegistry


@dataclass(frozen=True, slots=True)
class ToolRuntime:
    toolsets: ToolsetRegistry
    outbound: HttpClient
    breakers: CircuitBreakers
    bulkheads: Bulkheads
    call_log: CallLog
    metrics: Metrics
    call_metrics: ToolCallCollector
    clock: Clock
    ticker: Ticker
    toolboxes: ToolboxCache
    lists: RenderedListCache

    def breaker(self, workspace_id: str, server: Server) -> CircuitBreaker:
        """A changed server starts with a new one."""
        return self.breakers.get(workspace_id, _state_of(server))

    def health(self, workspace_id: str, server: Server) -> BreakerHealth:
        return self.breakers.health(workspace_id, _state_of(server))


def _state_of(server: Server) -> str:
    return f"{server.id} {server.version}"
