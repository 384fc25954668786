"""The tokens of a connected server: the current one is sent, and a rejected one is refreshed once."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from api.access.context import WorkspaceContext
from api.connections.tokens.access_tokens import AccessToken, AccessTokens
from api.connections.tokens.errors import NotConnected, ReconnectRequired, TokenTemporarilyUnavailable
from api.kit.clock import Clock
from api.kit.redaction import NO_SECRETS, Redactor
from api.servers.server import Server
from api.toolbox.failures import CLIENT_LACKS, client_refused, ended, missing_scopes, not_connected, not_now
from integrations import StatusRefused, challenge_of

MOST_SCOPES = 50
"""A server can name any number of scopes that it needs."""


class OAuthCredentials:
    """Reads the store only when its token is due for renewal."""

    def __init__(self, ctx: WorkspaceContext, server: Server, tokens: AccessTokens, clock: Clock) -> None:
        self.headers: dict[str, str] = {}
        self.redact: Redactor = NO_SECRETS
        self._ctx = ctx
        self._server = server
        self._tokens = tokens
        self._clock = clock
        self._fresh: AccessToken | None = None
        self._taking = asyncio.Lock()
        """Tokens are taken in the order in which they came."""

    def is_ready(self) -> bool:
        fresh = self._fresh
        return fresh is not None and (fresh.renew_at is None or self._clock.now() < fresh.renew_at)

    async def ready(self) -> None:
        await self._load()

    @property
    def sent(self) -> AccessToken | None:
        return self._fresh

    async def renew_after_rejection(self, refused: StatusRefused, rejected: object) -> bool:
        challenge = challenge_of(refused.headers.get("www-authenticate"))
        if refused.status == HTTPStatus.UNAUTHORIZED:
            await self._load(rejected if isinstance(rejected, AccessToken) else None)
            return True
        if refused.status == HTTPStatus.FORBIDDEN and challenge.error == "insufficient_scope" and challenge.scopes:
            scopes = self.redact.without_secrets(challenge.scopes)[:MOST_SCOPES]
            if not scopes:
                return False
            if self._server.connects_by_client:
                raise missing_scopes(scopes, CLIENT_LACKS)
            if await self._tokens.record_missing_scopes(self._ctx, self._server, scopes):
                raise missing_scopes(scopes)
        return False

    async def _load(self, refused: AccessToken | None = None) -> None:
        try:
            fresh = await self._tokens.get(self._ctx, self._server, refused=refused)
        except NotConnected as error:
            raise not_connected(self._server) from error
        except ReconnectRequired as error:
            raise ended(self._server.name) from error
        except TokenTemporarilyUnavailable as error:
            is_ours = self._server.connects_by_client and error.is_lasting
            raise (client_refused if is_ours else not_now)(error.text, error.retry_after) from error
        async with self._taking:
            await self._take(fresh)

    async def _take(self, fresh: AccessToken) -> None:
        replaced = self._fresh.secrets if self._fresh else frozenset()
        self.redact = await Redactor.of(fresh.secrets | replaced)  # the old token may still occur in a later response
        self.headers["Authorization"] = f"Bearer {fresh.token}"
        self._fresh = fresh
