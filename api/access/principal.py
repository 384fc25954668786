"""Principals: who may act, with which rights, and how each kind of principal authenticates.

A new kind is an `AuthenticationScheme` in a module of its own, registered where the container builds the
`Authenticator`. Guards, audit records and idempotency know principals only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from api.kit.clock import rfc3339
from api.kit.crypto.secret import Secret
from api.kit.storage.revision_cache import Snapshot
from api.kit.storage.store import Key

Headers = Iterable[tuple[bytes, bytes]]


class Scope(StrEnum):
    ADMIN = "admin"
    MANAGE = "manage"
    READ = "read"
    INVOKE = "invoke"
    OPERATOR = "operator"

    def includes(self, other: Scope) -> bool:
        return other in _INCLUDED[self]


_INCLUDED = {
    Scope.ADMIN: {Scope.ADMIN, Scope.MANAGE, Scope.READ, Scope.INVOKE},
    Scope.MANAGE: {Scope.MANAGE, Scope.READ},
    Scope.READ: {Scope.READ},
    Scope.INVOKE: {Scope.INVOKE},
    Scope.OPERATOR: {Scope.OPERATOR},
}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts: an API key, an operator, or Plugboard itself."""

    kind: str
    """The actor type in audit records."""

    id: str
    name: str
    scope: Scope
    records: tuple[Key, ...] = ()
    """The stored records that its rights rest on: each of its writes requires that they still exist."""

    agent_ids: frozenset[str] | None = None
    """The agents that it is limited to; None: no limit."""

    expires_at: str | None = None

    def may_invoke(self, agent_id: str) -> bool:
        return self.scope.includes(Scope.INVOKE) and (self.agent_ids is None or agent_id in self.agent_ids)

    def has_expired(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= rfc3339(now)


SYSTEM_PRINCIPAL = Principal("system", "plugboard", "Plugboard", Scope.MANAGE)


class AuthenticationScheme(Protocol):
    """How one kind of principal authenticates.

    A result of `authenticate` is cached for as long as the partition keeps its revision. So whatever changes or revokes
    a principal's rights writes a new revision of that partition.
    """

    def credentials(self, headers: Headers) -> str | None:
        """The credentials of this scheme in the request. Runs for every request, so it looks at their prefix only."""
        ...

    def is_well_formed(self, credentials: str) -> bool:
        """Malformed credentials are refused before anything is read."""
        ...

    def flaw(self, credentials: str) -> str:
        """Why they are malformed, in a text that does not help to guess others."""
        ...

    async def partition(self, credentials: str) -> str:
        """The partition that the principal belongs to; any existing one for unknown credentials."""
        ...

    async def authenticate(self, partition: str, snapshot: Snapshot | None, credentials: str) -> Principal | None:
        """The principal if it has rights in this partition. Takes the same time if the credentials are unknown."""
        ...

    async def load(self, partition: str, principal_id: str) -> Principal | None:
        """The principal as it is stored now, without credentials; None if the id is of another kind."""
        ...

    async def sealing_secret(self, credentials: str) -> Secret:
        """A secret that only requests of this principal yield, and that is stored nowhere in the clear."""
        ...

    def record_use(self, partition: str, principal: Principal) -> None:
        """Called for each authenticated request; must not wait."""
        ...


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request presents, and the scheme that understands it."""

    scheme: AuthenticationScheme
    text: str = field(repr=False)

    async def sealing_secret(self) -> Secret:
        return await self.scheme.sealing_secret(self.text)
