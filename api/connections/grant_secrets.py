"""The secrets that a grant holds, which must not come back in texts and scopes of others."""

from __future__ import annotations

import msgspec

from api.access.context import WorkspaceContext
from api.connections.encryption import TokenSealer
from api.connections.oauth_clients import ClientUnavailable, OAuthClients
from api.connections.repository import ACCESS, REFRESH, Grant, GrantRepository
from api.kit.crypto.envelope import CannotOpen
from api.kit.redaction import Redactor
from api.kit.storage.store import Store, StoreUnavailable
from api.servers.server import Server
from integrations import AuthorizationServer


class GrantSecrets:
    def __init__(self, store: Store, sealer: TokenSealer, oauth_clients: OAuthClients) -> None:
        self._store = store
        self._sealer = sealer
        self._oauth_clients = oauth_clients

    async def of(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> frozenset[str]:
        """Its tokens, and the secret of its client."""
        tokens = [await self._sealer.token(ctx, server, grant, name) for name in (ACCESS, REFRESH)]
        return present(*tokens, await self._client_secret(ctx, server, grant))

    async def redactor(self, ctx: WorkspaceContext, server: Server) -> Redactor:
        """For what a server says while it is connected again."""
        grant = await GrantRepository(self._store, ctx).get(server.id)
        try:
            return await Redactor.of(await self.of(ctx, server, grant) if grant else ())
        except CannotOpen:  # without the key, there are no secrets to recognise
            return Redactor()

    async def _client_secret(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> str | None:
        if grant.client.auth == "none":
            return None
        issuer = msgspec.convert(grant.provider, AuthorizationServer).identity
        try:
            return (await self._oauth_clients.load(ctx, server, grant.client, issuer)).secret
        except (ClientUnavailable, CannotOpen, StoreUnavailable):  # the tokens are usable without it
            return None


def present(*secrets: str | None) -> frozenset[str]:
    return frozenset(secret for secret in secrets if secret)
