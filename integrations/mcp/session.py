"""The port of a session with a server, and the eras of the protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self, get_args

from integrations.errors import RpcErrorResponse, StatusRefused, UnreadableResponse
from integrations.mcp import jsonrpc
from integrations.mcp.exchange import RpcOutcome

Wait = Callable[[float], Awaitable[None]]
"""`asyncio.sleep`, or a replacement in tests."""
Kind = Literal["modern", "streamable", "sse", "plain"]
MODERN_VERSION = "2026-07-28"
LEGACY_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022
UNFIT_STATUSES = (400, 404, 405)
# Errors about a missing handshake or session or a wrong version, not about the request itself.
_UNFIT_CODES = (-32000, -32001, -32600, UNSUPPORTED_VERSION)


@dataclass(frozen=True)
class Era:
    """The detected protocol version of a server, which is stored. `server` is for display only."""

    kind: Kind
    version: str | None = None
    server: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "version": self.version, "server": dict(self.server)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self | None:
        """The stored era; None if this version of the code does not know it, so that detection runs again."""
        match record:
            case {"kind": str(kind), "version": str() | None as version, "server": dict(server)}:
                return cls(kind, version, server) if kind in get_args(Kind) else None  # type: ignore[arg-type]
            case _:
                return None


class McpSession(Protocol):
    @property
    def era(self) -> Era: ...

    @property
    def is_open(self) -> bool: ...

    async def send(self, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]) -> RpcOutcome:
        """`headers`: the arguments that the tool's schema repeats as headers."""
        ...

    async def close(self) -> None: ...


def no_longer_fits(outcome: RpcOutcome, kind: Kind) -> bool:
    """Whether the server rejected the form of the request, so that it was not executed."""
    if outcome.error is None or outcome.status not in UNFIT_STATUSES:
        return False
    match outcome.error:
        case RpcErrorResponse(code=code):
            # A modern server rejects a request in an older form for its missing headers.
            return code in _UNFIT_CODES or (code == HEADER_MISMATCH and kind != "modern")
        case error:
            return isinstance(error, StatusRefused)


def was_refused_unread(outcome: RpcOutcome, now: Kind) -> bool:
    """Whether the server, whose kind is `now` known, cannot have executed the request: the code of a header mismatch
    means this only where it comes from a modern server."""
    is_mismatch = isinstance(outcome.error, RpcErrorResponse) and outcome.error.code == HEADER_MISMATCH
    return now == "modern" or not is_mismatch


def server_info(info: object) -> dict[str, Any]:
    """The name, title and version, shortened because they are stored."""
    if not isinstance(info, dict):
        return {}
    return {name: info[name][:200] for name in ("name", "title", "version") if isinstance(info.get(name), str)}


INITIALIZED = jsonrpc.notification("notifications/initialized")


def initialize(number: int, capabilities: Mapping[str, Any]) -> bytes:
    params = {"protocolVersion": LEGACY_VERSIONS[0], "capabilities": capabilities, "clientInfo": jsonrpc.CLIENT_INFO}
    return jsonrpc.request(number, "initialize", params)


def negotiated_era(kind: Kind, outcome: RpcOutcome) -> Era:
    result = outcome.value()
    version = result.get("protocolVersion")
    if version not in LEGACY_VERSIONS:
        raise UnreadableResponse("The server requires an unknown version of the protocol.")
    return Era(kind, version, server_info(result.get("serverInfo")))
