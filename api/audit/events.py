"""What the audit trail records: changes of configuration, and calls of tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """`server.updated`, of which thing, and which of its fields changed (their names, never their values)."""

    action: str
    target_id: str
    target_name: str
    fields: tuple[str, ...] = ()

    @property
    def target_type(self) -> str:
        return self.action.partition(".")[0]


class ToolCallRecord(NamedTuple):
    """What is recorded of a call of a tool: who, what and how it went; never what was sent or answered."""

    at: float
    """When it was answered."""
    workspace_id: str
    actor_id: str
    actor_name: str
    request_id: str
    agent_id: str
    server_id: str
    server_name: str
    tool: str
    """As the upstream names it; of a generic tool, the method."""
    outcome: str
    """`ok`, `tool_error`, or which kind of failure."""
    milliseconds: int
    actor_type: str

    @property
    def texts(self) -> tuple[str, ...]:
        return (*self[2:10], self.actor_type)
