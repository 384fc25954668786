"""A stored revocation job: tokens to revoke (RFC 7009), and the client that they were issued to.

Secrets are sealed with the installation's own key, because their workspace may be deleted before they are revoked.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from api.access.context import WorkspaceContext
from api.access.peppers import SYSTEM
from api.connections.repository import Grant, OAuthClientRef
from api.kit.clock import Clock
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Sealed, SecretLocation, Vault
from api.kit.storage.records import Record
from api.kit.storage.store import Always, Change, Item, Key, Put
from api.servers.server import Server
from integrations import OAuthClient

PREFIX, TOKENS = "OUTBOX#", "tokens"


@dataclass(frozen=True, slots=True)
class RevocationSecrets:
    """The tokens to revoke, and the credentials of their client."""

    access: str | None = field(default=None, repr=False)
    refresh: str | None = field(default=None, repr=False)
    client_secret: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RevocationJob(Record):
    PARSERS: ClassVar = {"client": OAuthClientRef.decode}

    workspace_id: str
    """The workspace that the grant belonged to. Its DNS lookups and connections are not shared with others."""

    service_type: str
    provider: Mapping[str, Any]
    client: OAuthClientRef
    since: float
    due: float
    tries: int = 0
    unless_there: str | None = None
    """A workspace that is about to be deleted: nothing is revoked while it still exists."""

    sealed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, item: Item) -> RevocationJob:
        """`ValueError` for an unknown format."""
        msgspec.convert(item.data, cls)
        return cls.decode(item.data)

    @property
    def host(self) -> str:
        return host_of(str((self.provider.get("revocation") or {}).get("url", "")))


class RevocationJobs:
    """Creates jobs, and opens their secrets."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock

    async def creation(
        self,
        ctx: WorkspaceContext,
        server: Server,
        grant: Grant,
        revoked: RevocationSecrets,
        client: OAuthClient | None,
        *,
        unless_there: bool = False,
    ) -> list[Change]:
        """The secret of an operator's app is not stored: it is read from the settings when it is needed."""
        key = Key(SYSTEM, f"{PREFIX}{grant.id}-{'leaving' if unless_there else secrets.token_hex(4)}")
        if client and grant.client.kind != "service":
            revoked = replace(revoked, client_secret=client.secret, private_key=client.private_key)
        sealer = await self._vault.sealer(SYSTEM)
        sealed = sealer.seal(SecretLocation(key.sk, TOKENS), Secret(msgspec.json.encode(asdict(revoked))))
        now = self._clock.now()
        job = RevocationJob(
            ctx.workspace_id,
            server.service_type,
            grant.provider,
            grant.client,
            since=now,
            due=now,
            unless_there=ctx.workspace_id if unless_there else None,
            sealed={TOKENS: sealed.text},
        )
        return [Put(key, job.encode(), Always()), sealer.guard]

    async def secrets(self, key: Key, job: RevocationJob) -> RevocationSecrets:
        sealed = Sealed.parse(job.sealed[TOKENS])
        opened = await self._vault.unseal(SYSTEM, SecretLocation(key.sk, TOKENS), sealed)
        return msgspec.json.decode(opened.reveal(), type=RevocationSecrets)


def host_of(url: str) -> str:
    """The host in lower case, without the port; raises `ValueError` for an invalid URL."""
    return (urlsplit(url).hostname or "").rstrip(".")
