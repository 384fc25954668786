"""How do tokens, verifiers and secrets of clients get into a record and out again? The only opening of them here."""

from __future__ import annotations

from collections.abc import Mapping

from api.access.context import WorkspaceContext
from api.connections.repository import Grant, record_of
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Place, Sealed, Vault
from api.kit.egress.policy import Egress
from api.kit.storage.store import Change
from api.servers.service import Server, opened, place_of, sealable
from api.servers.service import record_of as server_record_of


class Sealer:
    """What belongs to a server is held to the place that it was for: elsewhere it is as good as none."""

    def __init__(self, vault: Vault, egress: Egress) -> None:
        self._vault = vault
        self._egress = egress

    def place(self, server: Server) -> str:
        return place_of(server, self._egress)

    async def tokens_sealed(
        self, ctx: WorkspaceContext, server: Server, tokens: Mapping[str, str]
    ) -> tuple[dict[str, str], Change]:
        """And what the write that stores them has to carry along."""
        bound = {name: sealable(Secret(token), self.place(server)) for name, token in tokens.items()}
        return await self._sealed(ctx, record_of(server.id), bound)

    async def token(self, ctx: WorkspaceContext, server: Server, grant: Grant, name: str) -> str | None:
        text = grant.sealed.get(name)
        return None if text is None else await self._held(ctx, server, Place(record_of(server.id), name), text)

    async def config(self, ctx: WorkspaceContext, server: Server, name: str) -> str | None:
        text = server.sealed.get(name)
        return None if text is None else await self._held(ctx, server, Place(server_record_of(server.id), name), text)

    async def sealed(
        self, ctx: WorkspaceContext, record: str, values: Mapping[str, str]
    ) -> tuple[dict[str, str], list[Change]]:
        if not values:
            return {}, []
        sealed, check = await self._sealed(ctx, record, {name: Secret(value) for name, value in values.items()})
        return sealed, [check]

    async def opened(self, ctx: WorkspaceContext, record: str, name: str, sealed: Mapping[str, str]) -> str | None:
        text = sealed.get(name)
        if text is None:
            return None
        return (await self._vault.unseal(ctx.partition, Place(record, name), Sealed.parse(text))).reveal_text()

    async def _sealed(
        self, ctx: WorkspaceContext, record: str, values: Mapping[str, Secret]
    ) -> tuple[dict[str, str], Change]:
        sealing = await self._vault.sealing(ctx.partition)
        return {name: sealing.seal(Place(record, name), value).text for name, value in values.items()}, sealing.check

    async def _held(self, ctx: WorkspaceContext, server: Server, where: Place, text: str) -> str | None:
        given_for, value = opened(await self._vault.unseal(ctx.partition, where, Sealed.parse(text)))
        return value.reveal_text() if given_for == self.place(server) else None
