"""The credentials of a server as they are stored: the merge of a request's `config` into them, and their sealing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from api.access.context import WorkspaceContext
from api.errors import ValidationFailed
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Sealed, Sealer, Vault
from api.kit.egress.custom_headers import MAX_HEADERS
from api.kit.storage.store import Change
from api.servers.credential_binding import bind_credential, credential_location, unbind_credential
from api.servers.credentials import HEADERS, cleared_credentials, given_credentials, given_headers, headers_text
from api.servers.schemas import ConfigDraft
from api.servers.server import Server

Sealings = tuple[dict[str, str], list[Change]]


@dataclass(frozen=True, slots=True)
class MergedConfig:
    """The credentials of a server after a request."""

    kept: Mapping[str, str]
    """Sealed, as they are stored."""

    fresh: Mapping[str, Secret]
    """To be sealed."""

    @property
    def names(self) -> set[str]:
        return {*self.kept, *self.fresh}


class ConfigSealer:
    def __init__(self, ctx: WorkspaceContext, vault: Vault) -> None:
        self._partition = ctx.partition
        self._vault = vault

    async def merge(self, server: Server, binding: str, config: ConfigDraft) -> MergedConfig:
        """`server` is as stored. A header merges with the stored ones by its name, whose case does not matter."""
        cleared = cleared_credentials(config)
        kept = {name: text for name, text in server.sealed.items() if name not in cleared}
        fresh = given_credentials(config)
        if config.headers and HEADERS in kept:
            before = await self._stored_headers(server, binding)
            after = _merge_headers(before, config)
            fresh = _with_headers(fresh, after if after != before else {})
            kept = kept if after else _without_headers(kept)
        return MergedConfig({name: text for name, text in kept.items() if name not in fresh}, fresh)

    async def seal(self, server_id: str, binding: str, fresh: Mapping[str, Secret]) -> Sealings:
        """The sealed credentials, and the changes that the write of them must include."""
        if not fresh:
            return {}, []
        sealing: Sealer = await self._vault.sealer(self._partition)
        sealed = {
            name: sealing.seal(credential_location(server_id, name), bind_credential(secret, binding)).text
            for name, secret in fresh.items()
        }
        return sealed, [sealing.guard]

    async def _stored_headers(self, server: Server, binding: str) -> dict[str, str]:
        """Without headers that could not be sent: those that cannot be opened, or were entered for another host."""
        try:
            sealed = Sealed.parse(server.sealed[HEADERS])
            bound = await self._vault.unseal(self._partition, credential_location(server.id, HEADERS), sealed)
        except CannotOpen:
            return {}
        sealed_binding, value = unbind_credential(bound)
        return msgspec.json.decode(value.reveal(), type=dict[str, str]) if sealed_binding == binding else {}


def _merge_headers(stored: Mapping[str, str], config: ConfigDraft) -> dict[str, str]:
    named = {name.lower() for name in config.headers or ()}
    merged = {name: value for name, value in stored.items() if name.lower() not in named} | given_headers(config)
    if len(merged) > MAX_HEADERS:
        raise ValidationFailed.at(
            "config.headers", f"At most {MAX_HEADERS} headers are allowed, with those that are stored. Null clears one."
        )
    return merged


def _with_headers(fresh: Mapping[str, Secret], headers: Mapping[str, str]) -> dict[str, Secret]:
    others = {name: secret for name, secret in fresh.items() if name != HEADERS}
    return others | {HEADERS: headers_text(headers)} if headers else others


def _without_headers(kept: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in kept.items() if name != HEADERS}
