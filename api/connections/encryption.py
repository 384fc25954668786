"""How do tokens, verifiers and secrets of clients get into a record and out again? The only opening of them here."""

from __future__ import annotations

from collections.abc import Mapping

from api.access.context import WorkspaceContext
from api.connections.repository import Grant, record_of
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Sealed, SecretLocation, Vault
from api.kit.egress.policy import EgressPolicy
from api.kit.storage.store import Change
from api.servers.service import Server, bind_credential, credential_binding, unbind_credential
from api.servers.service import server_key as server_record_of


class TokenSealer:
    """What belongs to a server is held to the place that it was for: elsewhere it is as good as none."""

    def __init__(self, vault: Vault, egress: EgressPolicy) -> None:
        self._vault = vault
        self._egress = egress

    def place(self, server: Server) -> str:
        return credential_binding(server, self._egress)

    async def seal_tokens(
        self, ctx: WorkspaceContext, server: Server, tokens: Mapping[str, str]
    ) -> tuple[dict[str, str], Change]:
        """And what the write that stores them has to carry along."""
        bound = {name: bind_credential(Secret(token), self.place(server)) for name, token in tokens.items()}
        return await self._sealed(ctx, record_of(server.id), bound)

    async def token(self, ctx: WorkspaceContext, server: Server, grant: Grant, name: str) -> str | None:
        text = grant.sealed.get(name)
        return None if text is None else await self._held(ctx, server, SecretLocation(record_of(server.id), name), text)

    async def config(self, ctx: WorkspaceContext, server: Server, name: str) -> str | None:
        text = server.sealed.get(name)
        return (
            None
            if text is None
            else await self._held(ctx, server, SecretLocation(server_record_of(server.id), name), text)
        )

    async def seal(
        self, ctx: WorkspaceContext, record: str, values: Mapping[str, str]
    ) -> tuple[dict[str, str], list[Change]]:
        if not values:
            return {}, []
        sealed, check = await self._sealed(ctx, record, {name: Secret(value) for name, value in values.items()})
        return sealed, [check]

    async def open(self, ctx: WorkspaceContext, record: str, name: str, sealed: Mapping[str, str]) -> str | None:
        text = sealed.get(name)
        if text is None:
            return None
        return (await self._vault.unseal(ctx.partition, SecretLocation(record, name), Sealed.parse(text))).reveal_text()

    async def _sealed(
        self, ctx: WorkspaceContext, record: str, values: Mapping[str, Secret]
    ) -> tuple[dict[str, str], Change]:
        sealing = await self._vault.sealer(ctx.partition)
        return {
            name: sealing.seal(SecretLocation(record, name), value).text for name, value in values.items()
        }, sealing.guard

    async def _held(self, ctx: WorkspaceContext, server: Server, where: SecretLocation, text: str) -> str | None:
        given_for, value = unbind_credential(await self._vault.unseal(ctx.partition, where, Sealed.parse(text)))
        return value.reveal_text() if given_for == self.place(server) else None
