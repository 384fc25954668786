"""The events of the audit trail: changes of the configuration, and tool calls."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Action(StrEnum):
    """All actions: the type of the object, and what was done. The values are part of the API."""

    WORKSPACE_CREATED = "workspace.created"
    WORKSPACE_UPDATED = "workspace.updated"
    WORKSPACE_DELETED = "workspace.deleted"
    API_KEY_CREATED = "api_key.created"
    API_KEY_REVOKED = "api_key.revoked"
    SERVER_CREATED = "server.created"
    SERVER_UPDATED = "server.updated"
    SERVER_DELETED = "server.deleted"
    SERVER_CONNECTED = "server.connected"
    SERVER_DISCONNECTED = "server.disconnected"
    SERVER_RECONNECT_REQUIRED = "server.reconnect_required"
    SERVER_SCOPES_NEEDED = "server.scopes_needed"
    AGENT_CREATED = "agent.created"
    AGENT_UPDATED = "agent.updated"
    AGENT_DELETED = "agent.deleted"
    TOOL_CALLED = "tool.called"


class Outcome(StrEnum):
    """How a tool call ended. The values are part of the API; records of earlier versions have no others."""

    OK = "ok"
    TOOL_ERROR = "tool_error"
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_CONNECTED = "not_connected"
    RECONNECT_REQUIRED = "reconnect_required"
    RATE_LIMITED = "rate_limited"
    UPSTREAM_UNAVAILABLE = "upstream_unavailable"
    UPSTREAM_REFUSED = "upstream_refused"
    TIMEOUT = "timeout"
    NOT_FOUND = "not_found"
    NOT_ALLOWED = "not_allowed"
    DISABLED = "disabled"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """A configuration change: the action, its target, and the names of the changed fields, never their values.

    `cause`: why, for a change that Plugboard made of itself.
    """

    action: Action
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
    """An `Outcome`."""
    milliseconds: int
    actor_type: str
    client_address: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return (*self[2:10], self.actor_type)
