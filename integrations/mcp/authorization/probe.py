"""What does a server say to somebody who comes without credentials?"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from integrations.errors import Answered, Refused, TimedOut, UpstreamError
from integrations.http_port import Http
from integrations.mcp.authorization.challenge import Challenge, challenge_of
from integrations.mcp.authorization.errors import NoAuthorization
from integrations.mcp.authorization.metadata_document import is_trouble
from integrations.mcp.client import McpClient


@dataclass(frozen=True, slots=True)
class Said:
    """`otherwise`: what is wrong where no metadata is found. None: it asks for authorization in any case."""

    challenge: Challenge
    otherwise: UpstreamError | NoAuthorization | None = None


async def said_by(http: Http, url: str) -> Said:
    """It is asked for its tools: some servers let everybody shake hands. Nearly all turn away the first request."""
    client = McpClient(http, url, wait=_no_wait)
    try:
        await client.call("tools/list")
    except Refused as refused:
        return _said(refused)
    except Answered:
        pass  # it has understood, whatever it minds
    finally:
        await client.close()
    return Said(Challenge(), NoAuthorization("not_asked"))


def _said(refused: Refused) -> Said:
    if is_trouble(refused.status):
        raise refused
    challenge = challenge_of(refused.headers.get("www-authenticate"))
    asks = refused.status == HTTPStatus.UNAUTHORIZED or challenge != Challenge()
    return Said(challenge, None if asks else refused)


async def _no_wait(_seconds: float) -> None:
    raise TimedOut("The server wants to be waited for.")
