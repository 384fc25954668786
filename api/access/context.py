"""Who calls, and for which workspace: what a repository needs to know before it may look anywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from api.kit.clock import rfc3339
from api.kit.storage.revision_cache import Snapshot


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
class Caller:
    """The owner of the API key that came with the request."""

    key_id: str
    name: str
    scope: Scope
    partition: str | None = None
    """Where the key is kept; none for who is at the machine itself."""
    agent_ids: frozenset[str] | None = None
    expires_at: str | None = None

    def may_invoke(self, agent_id: str) -> bool:
        return self.scope.includes(Scope.INVOKE) and (self.agent_ids is None or agent_id in self.agent_ids)


SYSTEM_ACTOR = Caller("plugboard", "Plugboard", Scope.MANAGE)


def has_expired(caller: Caller, now: float) -> bool:
    return caller.expires_at is not None and caller.expires_at <= rfc3339(now)


def partition_of(workspace_id: str) -> str:
    return f"WS#{workspace_id}"


@dataclass(frozen=True, slots=True)
class WorkspaceContext:
    """The right to act for one workspace. Made by `access` alone, from a key that was checked."""

    workspace_id: str
    caller: Caller
    snapshot: Snapshot
    request_id: str

    @property
    def partition(self) -> str:
        return self.snapshot.partition


def as_system(ctx: WorkspaceContext) -> WorkspaceContext:
    """For what nobody has asked for: it was found out on the way, and would have been by anybody."""
    return replace(ctx, caller=SYSTEM_ACTOR)


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """The right to make, list and delete workspaces, and to see nothing in them."""

    caller: Caller
    request_id: str
