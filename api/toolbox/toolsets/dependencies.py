"""The dependencies of toolsets, equal for all requests."""

from __future__ import annotations

from dataclasses import dataclass, field

from api.kit.clock import Clock
from api.kit.deadline import Ticker
from api.kit.egress.policy import EgressPolicy
from api.kit.fair_thread import FairThread
from api.kit.http_client.client import HttpClient
from api.kit.storage.store import Store
from api.toolbox.credentials.static import CredentialStore
from api.toolbox.toolsets.service_directory import ServiceDirectory


@dataclass(frozen=True, slots=True)
class ToolsetDeps:
    store: Store
    outbound: HttpClient
    egress: EgressPolicy
    credentials: CredentialStore
    services: ServiceDirectory
    clock: Clock
    ticker: Ticker
    conversion: FairThread = field(default_factory=FairThread)
    """Converts large results."""
