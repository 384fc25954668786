"""Probes a server without credentials for its challenge."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from integrations.errors import RpcErrorResponse, StatusRefused, UpstreamError, UpstreamTimeout
from integrations.http_port import Http
from integrations.mcp.authorization.challenge import Challenge, challenge_of
from integrations.mcp.authorization.errors import NotAuthorizable
from integrations.mcp.authorization.metadata_document import is_trouble
from integrations.mcp.client import McpClient


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """`otherwise`: what is wrong where no metadata is found. None: it asks for authorization in any case."""

    challenge: Challenge
    otherwise: UpstreamError | NotAuthorizable | None = None


async def probe(http: Http, url: str) -> ProbeResult:
    """It is asked for its tools: some servers let everybody shake hands. Nearly all turn away the first request."""
    client = McpClient(http, url, wait=_no_wait)
    try:
        await client.call("tools/list")
    except StatusRefused as refused:
        return _said(refused)
    except RpcErrorResponse:
        pass  # it has understood, whatever it minds
    finally:
        await client.close()
    return ProbeResult(Challenge(), NotAuthorizable("not_asked"))


def _said(refused: StatusRefused) -> ProbeResult:
    if is_trouble(refused.status):
        raise refused
    challenge = challenge_of(refused.headers.get("www-authenticate"))
    asks = refused.status == HTTPStatus.UNAUTHORIZED or challenge != Challenge()
    return ProbeResult(challenge, None if asks else refused)


async def _no_wait(_seconds: float) -> None:
    raise UpstreamTimeout("The server requested a delay.")
