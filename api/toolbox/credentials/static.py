"""The credentials of servers, opened for sending.

Each is sealed together with its binding, and never sent if the binding differs from its server's current one.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Protocol

import msgspec

from api.access.context import WorkspaceContext
from api.connections.tokens.access_tokens import AccessTokens
from api.kit.clock import Clock
from api.kit.crypto.vault import Sealed, Vault
from api.kit.egress.policy import EgressPolicy
from api.kit.redaction import Redactor
from api.servers.credential_binding import credential_binding, credential_location, unbind_credential
from api.servers.server import AuthType, Server
from api.toolbox.credentials.oauth import OAuthCredentials
from api.toolbox.failures import no_credentials
from integrations import StatusRefused


class UpstreamCredentials(Protocol):
    """The credentials that are sent with requests and redacted from responses."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Always the same object; its content may change."""
        ...

    @property
    def redact(self) -> Redactor: ...

    def is_ready(self) -> bool: ...

    async def ready(self) -> None:
        """Raises `CredentialsUnavailable` if there are no credentials to send."""
        ...

    @property
    def sent(self) -> object:
        """Identifies the credentials sent now; passed on rejection, since they may have been replaced meanwhile."""
        ...

    async def renew_after_rejection(self, refused: StatusRefused, rejected: object) -> bool:
        """Replace credentials that the upstream rejected. Returns whether there are new ones, for one more request."""
        ...


class StaticCredentials:
    """Credentials as they were entered."""

    def __init__(self, headers: Mapping[str, str], redact: Redactor) -> None:
        self.headers = headers
        self.redact = redact
        self.sent: object = None

    def is_ready(self) -> bool:
        return True

    async def ready(self) -> None:
        pass

    async def renew_after_rejection(self, refused: StatusRefused, rejected: object) -> bool:  # noqa: ARG002  # there are no others
        return False


class CredentialStore:
    def __init__(self, vault: Vault, egress: EgressPolicy, tokens: AccessTokens, clock: Clock) -> None:
        self._vault = vault
        self._egress = egress
        self._tokens = tokens
        self._clock = clock

    async def open(self, ctx: WorkspaceContext, server: Server) -> UpstreamCredentials:
        if server.auth_type == AuthType.OAUTH:
            bearer = OAuthCredentials(ctx, server, self._tokens, self._clock)
            await bearer.ready()
            return bearer
        binding = credential_binding(server, self._egress)
        secrets = {name: await self._open(ctx, server, name, binding) for name in server.sealed}
        headers = _headers(server, secrets)
        return StaticCredentials(headers, await Redactor.of(_texts_to_redact(secrets, headers)))

    async def _open(self, ctx: WorkspaceContext, server: Server, name: str, binding: str) -> str:
        location, sealed = credential_location(server.id, name), Sealed.parse(server.sealed[name])
        sealed_binding, value = unbind_credential(await self._vault.unseal(ctx.partition, location, sealed))
        if sealed_binding != binding:
            raise no_credentials(server.name)
        return value.reveal_text()


def _headers(server: Server, secrets: Mapping[str, str]) -> dict[str, str]:
    match AuthType(server.auth_type):
        case AuthType.NONE:
            return {}
        case AuthType.HEADER if "apiKey" in secrets:
            return {"Authorization": f"Bearer {secrets['apiKey']}"}
        case AuthType.HEADER if secrets.keys() & {"headerValue", "headers"}:
            value = {"Authorization": secrets["headerValue"]} if "headerValue" in secrets else {}
            return _custom_headers(secrets) | value
        case AuthType.BASIC if secrets.keys() >= {"username", "password"}:
            return {"Authorization": _basic(secrets["username"], secrets["password"])}
        case _:
            raise no_credentials(server.name)


def _custom_headers(secrets: Mapping[str, str]) -> dict[str, str]:
    return msgspec.json.decode(secrets.get("headers", "{}"), type=dict[str, str])


def _basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def _texts_to_redact(secrets: Mapping[str, str], headers: Mapping[str, str]) -> set[str]:
    """The texts to redact, with and without the scheme: an upstream may return only what follows `Bearer`."""
    values = {*headers.values(), *(value for name, value in secrets.items() if name not in ("headers", "username"))}
    return values | {value.partition(" ")[2].strip() for value in values}
