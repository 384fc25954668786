"""The `initialize` handshake of servers up to 2025-11-25."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from integrations.errors import UnreadableResponse
from integrations.mcp import jsonrpc
from integrations.mcp.exchange import RpcOutcome
from integrations.mcp.session import LEGACY_VERSIONS, Era, Kind, server_info

INITIALIZED = jsonrpc.notification("notifications/initialized")


def initialize(number: int, capabilities: Mapping[str, Any]) -> bytes:
    params = {"protocolVersion": LEGACY_VERSIONS[0], "capabilities": capabilities, "clientInfo": jsonrpc.CLIENT_INFO}
    return jsonrpc.request(number, "initialize", params)


def agreed(kind: Kind, outcome: RpcOutcome) -> Era:
    result = outcome.value()
    version = result.get("protocolVersion")
    if version not in LEGACY_VERSIONS:
        raise UnreadableResponse("The server requires an unknown version of the protocol.")
    return Era(kind, version, server_info(result.get("serverInfo")))
