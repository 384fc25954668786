"""Detection of the MCP version of a server, the newest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from integrations.errors import RpcErrorResponse, StatusRefused, UpstreamError
from integrations.http_port import Http
from integrations.mcp import jsonrpc
from integrations.mcp.exchange import NOT_ABOUT_THE_MESSAGE, RpcOutcome
from integrations.mcp.legacy_sse import LegacySseSession
from integrations.mcp.plain import PlainSession
from integrations.mcp.server_requests import Respondent
from integrations.mcp.session import (
    HEADER_MISMATCH,
    LEGACY_VERSIONS,
    MISSING_CAPABILITY,
    MODERN_VERSION,
    UNFIT_STATUSES,
    UNSUPPORTED_VERSION,
    Era,
    Kind,
    McpSession,
    Wait,
    server_info,
)
from integrations.mcp.stateless import META, StatelessSession
from integrations.mcp.streamable import StreamableSession, initialize_session

MODERN = Era("modern", MODERN_VERSION)


@dataclass(frozen=True)
class Endpoint:
    http: Http
    url: str
    numbers: Iterator[int]
    wait: Wait
    respondent: Respondent


async def detect(endpoint: Endpoint) -> McpSession:
    """Open a session with the newest version, by requests that change nothing."""
    discovered = await _modern(endpoint, MODERN).send("server/discover", None, {})
    if era := _modern_era(discovered):
        return _modern(endpoint, era)
    first = await _initialize(endpoint)
    if not first.error:
        return await _streamable(endpoint, first)
    if jsonrpc.says_unknown_method(first.error):
        return PlainSession(endpoint.http, endpoint.url, endpoint.numbers)
    if first.status in UNFIT_STATUSES:
        return await _open_legacy(endpoint, first.error)
    raise first.error


async def detect_again(endpoint: Endpoint, previous: Kind) -> McpSession | None:
    """A session of another kind than before; None if the kind is the same or the server is unreachable."""
    try:
        session = await detect(endpoint)
    except UpstreamError:
        return None
    if session.era.kind != previous:
        return session
    await session.close()
    return None


async def reopen(endpoint: Endpoint, era: Era) -> McpSession:
    """Open a session of a known era. The server may reject it if its version has changed."""
    match era.kind:
        case "modern":
            return _modern(endpoint, era)
        case "plain":
            return PlainSession(endpoint.http, endpoint.url, endpoint.numbers)
        case "sse":
            return await LegacySseSession.open(endpoint.http, endpoint.url, endpoint.numbers)
        case "streamable":
            return await _streamable(endpoint, await _initialize(endpoint))


def tells_nothing(error: UpstreamError | None) -> bool:
    """Whether any other request would get the same response."""
    return isinstance(error, StatusRefused) and (
        error.status in NOT_ABOUT_THE_MESSAGE
        or error.status < HTTPStatus.BAD_REQUEST
        or error.status in (502, 503, 504)
    )


def _modern(endpoint: Endpoint, era: Era) -> StatelessSession:
    return StatelessSession(endpoint.http, endpoint.url, endpoint.numbers, endpoint.respondent, era)


async def _initialize(endpoint: Endpoint) -> RpcOutcome:
    return await initialize_session(endpoint.http, endpoint.url, endpoint.numbers, endpoint.respondent.capabilities)


async def _streamable(endpoint: Endpoint, first: RpcOutcome) -> StreamableSession:
    return await StreamableSession.open(
        endpoint.http, endpoint.url, endpoint.numbers, endpoint.wait, endpoint.respondent, first
    )


def _modern_era(discovered: RpcOutcome) -> Era | None:
    if discovered.error and tells_nothing(discovered.error):
        raise discovered.error
    match discovered.result, discovered.error:
        case {"supportedVersions": list(versions), **rest}, _:
            return _named_era(rest.get("_meta")) if MODERN_VERSION in versions else None
        case _, RpcErrorResponse() as error:
            return MODERN if _is_modern(discovered.status, error) else None
        case _:
            return None


def _is_modern(status: int, error: RpcErrorResponse) -> bool:
    if status == HTTPStatus.BAD_REQUEST and error.code == UNSUPPORTED_VERSION:
        return not _offers_handshake(error)
    return (status, error.code) == (404, jsonrpc.METHOD_NOT_FOUND) or (
        status == HTTPStatus.BAD_REQUEST and error.code in (HEADER_MISMATCH, MISSING_CAPABILITY)
    )


def _offers_handshake(error: RpcErrorResponse) -> bool:
    """Whether the server supports an older version; without a common version, calls fail with a clear error."""
    match error.data:
        case {"supported": list(versions)} if MODERN_VERSION not in versions:
            return any(version in versions for version in LEGACY_VERSIONS)
        case _:
            return False


def _named_era(meta: object) -> Era:
    info = meta.get(f"{META}serverInfo") if isinstance(meta, dict) else None
    return Era("modern", MODERN_VERSION, server_info(info))


async def _open_legacy(endpoint: Endpoint, handshake_error: UpstreamError) -> McpSession:
    """Open the legacy stream; if that fails too, the error of the handshake says more."""
    try:
        return await LegacySseSession.open(endpoint.http, endpoint.url, endpoint.numbers)
    except UpstreamError as error:
        raise (error if tells_nothing(error) else handshake_error) from error
