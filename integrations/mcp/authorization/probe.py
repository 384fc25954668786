"""A request without credentials that obtains a server's challenge."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from integrations.errors import RpcErrorResponse, StatusRefused, UpstreamError, UpstreamTimeout
from integrations.http_port import Http
from integrations.mcp.authorization.challenge import Challenge, challenge_of
from integrations.mcp.authorization.errors import NotAuthorizable
from integrations.mcp.authorization.metadata_document import is_temporary_failure
from integrations.mcp.client import McpClient


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """`failure`: the error if there is no metadata; None if the server requires authorization in any case."""

    challenge: Challenge
    failure: UpstreamError | NotAuthorizable | None = None


async def probe(http: Http, url: str) -> ProbeResult:
    """List the tools, since some servers allow the handshake without authorization."""
    client = McpClient(http, url, wait=_no_wait)
    try:
        await client.call("tools/list")
    except StatusRefused as error:
        return _result_of(error)
    except RpcErrorResponse:
        pass  # the server has accepted the request without credentials
    finally:
        await client.close()
    return ProbeResult(Challenge(), NotAuthorizable("not_asked"))


def _result_of(error: StatusRefused) -> ProbeResult:
    if is_temporary_failure(error.status):
        raise error
    challenge = challenge_of(error.headers.get("www-authenticate"))
    requires_authorization = error.status == HTTPStatus.UNAUTHORIZED or challenge != Challenge()
    return ProbeResult(challenge, None if requires_authorization else error)


async def _no_wait(_seconds: float) -> None:
    raise UpstreamTimeout("The server requested a delay.")
