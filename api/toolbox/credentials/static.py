"""Opens a server's credentials in order to send them.

Each was sealed together with what it was entered for. One that was entered for another place is not sent, whatever the
server's record says by now.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Protocol

import msgspec

from api.access.context import WorkspaceContext
from api.connections.service import TokenKeeper
from api.kit.clock import Clock
from api.kit.crypto.vault import Place, Sealed, Vault
from api.kit.egress.policy import Egress
from api.servers.service import AuthType, Server, opened, place_of, record_of
from api.toolbox.credentials.oauth import Bearer
from api.toolbox.failures import no_credentials
from api.toolbox.output.redaction import Scrubber
from integrations import StatusRefused


class Opened(Protocol):
    """What is sent along, and what is looked for in the answers."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The same object for good, whatever comes to be in it."""
        ...

    @property
    def scrubbed(self) -> Scrubber: ...

    def is_ready(self) -> bool: ...

    async def ready(self) -> None:
        """`NotConnected` where there is nothing that could be sent."""
        ...

    @property
    def sent(self) -> object:
        """Which of them go along now: to be told when they are refused, since others may have come meanwhile."""
        ...

    async def otherwise(self, refused: StatusRefused, sent: object) -> bool:
        """The upstream did not take them, and did nothing. Whether there are others now, to ask once more with."""
        ...


class Entered:
    """As somebody has entered them."""

    def __init__(self, headers: Mapping[str, str], scrubbed: Scrubber) -> None:
        self.headers = headers
        self.scrubbed = scrubbed
        self.sent: object = None

    def is_ready(self) -> bool:
        return True

    async def ready(self) -> None:
        pass

    async def otherwise(self, refused: StatusRefused, sent: object) -> bool:  # noqa: ARG002  # there are no others
        return False


class Credentials:
    def __init__(self, vault: Vault, egress: Egress, tokens: TokenKeeper, clock: Clock) -> None:
        self._vault = vault
        self._egress = egress
        self._tokens = tokens
        self._clock = clock

    async def open(self, ctx: WorkspaceContext, server: Server) -> Opened:
        if server.auth_type == AuthType.OAUTH:
            bearer = Bearer(ctx, server, self._tokens, self._clock)
            await bearer.ready()
            return bearer
        place = place_of(server, self._egress)
        found = {name: await self._open(ctx, server, name, place) for name in server.sealed}
        headers = _headers(AuthType(server.auth_type), found)
        return Entered(headers, Scrubber(_to_look_for(found, headers)))

    async def _open(self, ctx: WorkspaceContext, server: Server, name: str, place: str) -> str:
        where, sealed = Place(record_of(server.id), name), Sealed.parse(server.sealed[name])
        entered_for, value = opened(await self._vault.unseal(ctx.partition, where, sealed))
        if entered_for != place:
            raise no_credentials()
        return value.reveal_text()


def _headers(auth_type: AuthType, found: Mapping[str, str]) -> dict[str, str]:
    match auth_type:
        case AuthType.NONE:
            return {}
        case AuthType.HEADER if "apiKey" in found:
            return {"Authorization": f"Bearer {found['apiKey']}"}
        case AuthType.HEADER if found.keys() & {"headerValue", "headers"}:
            value = {"Authorization": found["headerValue"]} if "headerValue" in found else {}
            return _further(found) | value
        case AuthType.BASIC if found.keys() >= {"username", "password"}:
            return {"Authorization": _basic(found["username"], found["password"])}
        case _:
            raise no_credentials()


def _further(found: Mapping[str, str]) -> dict[str, str]:
    return msgspec.json.decode(found.get("headers", "{}"), type=dict[str, str])


def _basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def _to_look_for(found: Mapping[str, str], headers: Mapping[str, str]) -> set[str]:
    """A scheme is no part of the secret: an upstream may send back what follows `Bearer` alone."""
    values = {*headers.values(), *(value for name, value in found.items() if name not in ("headers", "username"))}
    return values | {value.partition(" ")[2].strip() for value in values}
