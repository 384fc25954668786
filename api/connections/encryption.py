"""Encryption of tokens, PKCE verifiers and client secrets. Only this module and the revocation queue open them."""

from __future__ import annotations

from collections.abc import Mapping

from api.access.context import WorkspaceContext
from api.connections.repository import Grant, grant_key
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Sealed, SecretLocation, Vault
from api.kit.egress.policy import EgressPolicy
from api.kit.storage.store import Change
from api.servers.credential_binding import (
    bind_credential,
    credential_binding,
    credential_location,
    unbind_credential,
)
from api.servers.server import Server


class TokenSealer:
    """Each secret of a server is bound to the address that it was issued for: for another address it does not open."""

    def __init__(self, vault: Vault, egress: EgressPolicy) -> None:
        self._vault = vault
        self._egress = egress

    def binding(self, server: Server) -> str:
        return credential_binding(server, self._egress)

    async def seal_tokens(
        self, ctx: WorkspaceContext, server: Server, tokens: Mapping[str, str]
    ) -> tuple[dict[str, str], Change]:
        """The sealed tokens, and a check that the write which stores them must include."""
        binding = self.binding(server)
        bound = {name: bind_credential(Secret(token), binding) for name, token in tokens.items()}
        return await self._seal(ctx, grant_key(server.id), bound)

    async def token(self, ctx: WorkspaceContext, server: Server, grant: Grant, name: str) -> str | None:
        return await self._open_bound(ctx, server, SecretLocation(grant_key(server.id), name), grant.sealed.get(name))

    async def config(self, ctx: WorkspaceContext, server: Server, name: str) -> str | None:
        return await self._open_bound(ctx, server, credential_location(server.id, name), server.sealed.get(name))

    async def seal(
        self, ctx: WorkspaceContext, record: str, values: Mapping[str, str]
    ) -> tuple[dict[str, str], list[Change]]:
        if not values:
            return {}, []
        sealed, check = await self._seal(ctx, record, {name: Secret(value) for name, value in values.items()})
        return sealed, [check]

    async def open(self, ctx: WorkspaceContext, record: str, name: str, sealed: Mapping[str, str]) -> str | None:
        text = sealed.get(name)
        if text is None:
            return None
        return (await self._vault.unseal(ctx.partition, SecretLocation(record, name), Sealed.parse(text))).reveal_text()

    async def _seal(
        self, ctx: WorkspaceContext, record: str, values: Mapping[str, Secret]
    ) -> tuple[dict[str, str], Change]:
        sealer = await self._vault.sealer(ctx.partition)
        sealed = {name: sealer.seal(SecretLocation(record, name), value).text for name, value in values.items()}
        return sealed, sealer.guard

    async def _open_bound(
        self, ctx: WorkspaceContext, server: Server, location: SecretLocation, text: str | None
    ) -> str | None:
        if text is None:
            return None
        binding, value = unbind_credential(await self._vault.unseal(ctx.partition, location, Sealed.parse(text)))
        return value.reveal_text() if binding == self.binding(server) else None
