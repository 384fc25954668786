"""Detects which version of MCP a server speaks, the newest first."""

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
from integrations.mcp.streamable import StreamableSession, first_answer

MODERN = Era("modern", MODERN_VERSION)


@dataclass(frozen=True)
class Endpoint:
    http: Http
    url: str
    numbers: Iterator[int]
    wait: Wait
    respondent: Respondent


async def detect(site: Endpoint) -> McpSession:
    """Sends only requests that change nothing."""
    discovered = await _modern(site, MODERN).send("server/discover", None, {})
    if era := _modern_era(discovered):
        return _modern(site, era)
    first = await _first_answer(site)
    if not first.error:
        return await _streamable(site, first)
    if jsonrpc.says_unknown_method(first.error):
        return PlainSession(site.http, site.url, site.numbers)
    if first.status in UNFIT_STATUSES:
        return await _on_a_stream(site, first.error)
    raise first.error


async def detect_again(site: Endpoint, than: Kind) -> McpSession | None:
    """None where the server speaks as before, or cannot be reached."""
    try:
        other = await detect(site)
    except UpstreamError:
        return None
    if other.era.kind != than:
        return other
    await other.close()
    return None


async def reopen(site: Endpoint, era: Era) -> McpSession:
    """The way it was found before; what the server says to that may be that it speaks otherwise by now."""
    match era.kind:
        case "modern":
            return _modern(site, era)
        case "plain":
            return PlainSession(site.http, site.url, site.numbers)
        case "sse":
            return await LegacySseSession.opened(site.http, site.url, site.numbers)
        case "streamable":
            return await _streamable(site, await _first_answer(site))


def tells_nothing(error: UpstreamError | None) -> bool:
    """Whether any other request would get the same response."""
    return isinstance(error, StatusRefused) and (
        error.status in NOT_ABOUT_THE_MESSAGE
        or error.status < HTTPStatus.BAD_REQUEST
        or error.status in (502, 503, 504)
    )


def _modern(site: Endpoint, era: Era) -> StatelessSession:
    return StatelessSession(site.http, site.url, site.numbers, site.respondent, era)


async def _first_answer(site: Endpoint) -> RpcOutcome:
    return await first_answer(site.http, site.url, site.numbers, site.respondent.capabilities)


async def _streamable(site: Endpoint, first: RpcOutcome) -> StreamableSession:
    return await StreamableSession.opened(site.http, site.url, site.numbers, site.wait, site.respondent, first)


def _modern_era(discovered: RpcOutcome) -> Era | None:
    if discovered.error and tells_nothing(discovered.error):
        raise discovered.error
    match discovered.result, discovered.error:
        case {"supportedVersions": list(versions), **rest}, _:
            return _named(rest.get("_meta")) if MODERN_VERSION in versions else None
        case _, RpcErrorResponse() as error:
            return MODERN if _is_modern(discovered.status, error) else None
        case _:
            return None


def _is_modern(status: int, error: RpcErrorResponse) -> bool:
    if status == HTTPStatus.BAD_REQUEST and error.code == UNSUPPORTED_VERSION:
        return not _offers_a_handshake(error)
    return (status, error.code) == (404, jsonrpc.METHOD_NOT_FOUND) or (
        status == HTTPStatus.BAD_REQUEST and error.code in (HEADER_MISMATCH, MISSING_CAPABILITY)
    )


def _offers_a_handshake(error: RpcErrorResponse) -> bool:
    """True also where it names older versions only. With neither, there is nothing in common: the calls will say so."""
    match error.data:
        case {"supported": list(versions)} if MODERN_VERSION not in versions:
            return any(version in versions for version in LEGACY_VERSIONS)
        case _:
            return False


def _named(meta: object) -> Era:
    info = meta.get(f"{META}serverInfo") if isinstance(meta, dict) else None
    return Era("modern", MODERN_VERSION, server_info(info))


async def _on_a_stream(site: Endpoint, problem: UpstreamError) -> McpSession:
    """Where there is no such stream either, what the server said to the handshake tells more."""
    try:
        return await LegacySseSession.opened(site.http, site.url, site.numbers)
    except UpstreamError as error:
        raise (error if tells_nothing(error) else problem) from error
