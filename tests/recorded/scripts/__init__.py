"""The scripts, by name. Each is run in an environment of its own, and has a file in `responses`."""

from __future__ import annotations

from collections.abc import Mapping

from tests.recorded.script import Script
from tests.recorded.scripts import (
    access,
    agents,
    api_keys,
    calls,
    client_grants,
    connections,
    grants,
    idempotency,
    limits,
    methods,
    own_keys,
    servers,
    service_tools,
    system,
    tools,
    workspaces,
)

SCRIPTS: Mapping[str, Script] = {
    module.__name__.rpartition(".")[2]: module.SCRIPT
    for module in (
        *(access, agents, api_keys, calls, client_grants, connections, grants),
        *(idempotency, limits, methods, own_keys, servers, system, tools, workspaces),
    )
} | service_tools.SCRIPTS
