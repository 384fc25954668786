"""The right to act for a workspace or as an operator, which a repository needs before it reads anything."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import msgspec

from api.access.principal import SYSTEM_PRINCIPAL, Credentials, Principal
from api.kit.storage.revision_cache import Snapshot

WORKSPACE = "WS#"


def partition_of(workspace_id: str) -> str:
    return f"{WORKSPACE}{workspace_id}"


def workspace_of(snapshot: Snapshot) -> str | None:
    """None for a snapshot of the operators' keys."""
    partition = snapshot.partition
    return partition.removeprefix(WORKSPACE) if partition.startswith(WORKSPACE) else None


class WorkspaceContext(msgspec.Struct, frozen=True):
    """The right to act for one workspace. Only `access` makes it, for an authenticated principal."""

    workspace_id: str
    principal: Principal
    snapshot: Snapshot
    request_id: str
    credentials: Credentials | None = None
    """None outside of the principal's own request."""
    client_address: str | None = None
    """None outside of requests."""

    @property
    def partition(self) -> str:
        return self.snapshot.partition


def as_system(ctx: WorkspaceContext) -> WorkspaceContext:
    """For a change that no principal requested, such as marking a grant that the vendor has revoked.

    Its request id is its own: the context may be kept from the request of another caller.
    """
    request_id = f"system-{secrets.token_hex(8)}"
    return msgspec.structs.replace(ctx, principal=SYSTEM_PRINCIPAL, request_id=request_id, credentials=None)


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """The right to create, list and delete workspaces, but to see nothing inside them."""

    principal: Principal
    request_id: str
    credentials: Credentials | None = None
    client_address: str | None = None
