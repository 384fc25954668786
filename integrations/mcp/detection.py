"""How does this server speak? It is tried out, the newest way first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from integrations.errors import Answered, Refused, UpstreamError
from integrations.http_port import Http
from integrations.mcp import jsonrpc
from integrations.mcp.exchange import NOT_ABOUT_THE_MESSAGE, Outcome
from integrations.mcp.legacy_sse import LegacySse
from integrations.mcp.plain import Plain
from integrations.mcp.server_requests import Respondent
from integrations.mcp.session import (
    HEADER_MISMATCH,
    LEGACY_VERSIONS,
    MISSING_CAPABILITY,
    MODERN_VERSION,
    UNFIT_STATUSES,
    UNSUPPORTED_VERSION,
    Connection,
    Era,
    Kind,
    Wait,
    server_info,
)
from integrations.mcp.stateless import META, Modern
from integrations.mcp.streamable import Streamable, first_answer

MODERN = Era("modern", MODERN_VERSION)


@dataclass(frozen=True)
class Site:
    http: Http
    url: str
    numbers: Iterator[int]
    wait: Wait
    respondent: Respondent


async def found(site: Site) -> Connection:
    """Asks only what changes nothing."""
    discovered = await _modern(site, MODERN).send("server/discover", None, {})
    if era := _modern_era(discovered):
        return _modern(site, era)
    first = await _first_answer(site)
    if not first.error:
        return await _streamable(site, first)
    if jsonrpc.says_unknown_method(first.error):
        return Plain(site.http, site.url, site.numbers)
    if first.status in UNFIT_STATUSES:
        return await _on_a_stream(site, first.error)
    raise first.error


async def found_otherwise(site: Site, than: Kind) -> Connection | None:
    """None where it speaks as before, or cannot be asked just now."""
    try:
        other = await found(site)
    except UpstreamError:
        return None
    if other.era.kind != than:
        return other
    await other.close()
    return None


async def reopened(site: Site, era: Era) -> Connection:
    """The way it was found before; what the server says to that may be that it speaks otherwise by now."""
    match era.kind:
        case "modern":
            return _modern(site, era)
        case "plain":
            return Plain(site.http, site.url, site.numbers)
        case "sse":
            return await LegacySse.opened(site.http, site.url, site.numbers)
        case "streamable":
            return await _streamable(site, await _first_answer(site))


def tells_nothing(error: UpstreamError | None) -> bool:
    """Whoever answers so would answer anything else in the same way."""
    return isinstance(error, Refused) and (
        error.status in NOT_ABOUT_THE_MESSAGE
        or error.status < HTTPStatus.BAD_REQUEST
        or error.status in (502, 503, 504)
    )


def _modern(site: Site, era: Era) -> Modern:
    return Modern(site.http, site.url, site.numbers, site.respondent, era)


async def _first_answer(site: Site) -> Outcome:
    return await first_answer(site.http, site.url, site.numbers, site.respondent.capabilities)


async def _streamable(site: Site, first: Outcome) -> Streamable:
    return await Streamable.opened(site.http, site.url, site.numbers, site.wait, site.respondent, first)


def _modern_era(discovered: Outcome) -> Era | None:
    if discovered.error and tells_nothing(discovered.error):
        raise discovered.error
    match discovered.result, discovered.error:
        case {"supportedVersions": list(versions), **rest}, _:
            return _named(rest.get("_meta")) if MODERN_VERSION in versions else None
        case _, Answered() as error:
            return MODERN if _is_modern(discovered.status, error) else None
        case _:
            return None


def _is_modern(status: int, error: Answered) -> bool:
    if status == HTTPStatus.BAD_REQUEST and error.code == UNSUPPORTED_VERSION:
        return not _offers_a_handshake(error)
    return (status, error.code) == (404, jsonrpc.METHOD_NOT_FOUND) or (
        status == HTTPStatus.BAD_REQUEST and error.code in (HEADER_MISMATCH, MISSING_CAPABILITY)
    )


def _offers_a_handshake(error: Answered) -> bool:
    """True also where it names older versions only. With neither, there is nothing in common: the calls will say so."""
    match error.data:
        case {"supported": list(versions)} if MODERN_VERSION not in versions:
            return any(version in versions for version in LEGACY_VERSIONS)
        case _:
            return False


def _named(meta: object) -> Era:
    info = meta.get(f"{META}serverInfo") if isinstance(meta, dict) else None
    return Era("modern", MODERN_VERSION, server_info(info))


async def _on_a_stream(site: Site, problem: UpstreamError) -> Connection:
    """Where there is no such stream either, what the server said to the handshake tells more."""
    try:
        return await LegacySse.opened(site.http, site.url, site.numbers)
    except UpstreamError as error:
        raise (error if tells_nothing(error) else problem) from error
