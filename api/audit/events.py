"""The events of the audit trail: changes of the configuration, and tool calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """A configuration change: the action, its target, and the names of the changed fields, never their values.

    `cause`: why, for a change that Plugboard made of itself.
    """

    action: str
    target_id: str
    target_name: str
    fields: tuple[str, ...] = ()
    cause: str | None = None

    @property
    def target_type(self) -> str:
        return self.action.partition(".")[0]


class ToolCallRecord(NamedTuple):
    """A tool call: who made it and how it ended, but never its arguments or its result."""

    at: float
    """When the call ended, in seconds since 1970."""
    workspace_id: str
    actor_id: str
    actor_name: str
    request_id: str
    agent_id: str
    server_id: str
    server_name: str
    tool: str
    """The upstream name; for the generic tool, the method."""
    outcome: str
    """`ok`, `tool_error`, or the kind of failure."""
    milliseconds: int
    actor_type: str
    client_address: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return (*self[2:10], self.actor_type)
