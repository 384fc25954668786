"""The result of a tool call: what the tool answered, or how the call failed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from integrations import FailureCause


class FailureKind(StrEnum):
    """All kinds of failures; the values are part of the API."""

    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_CONNECTED = "not_connected"
    RECONNECT_REQUIRED = "reconnect_required"
    RATE_LIMITED = "rate_limited"
    UPSTREAM_UNAVAILABLE = "upstream_unavailable"
    UPSTREAM_REFUSED = "upstream_refused"
    TIMEOUT = "timeout"


NEVER_DONE = frozenset(
    {
        FailureKind.INVALID_ARGUMENTS,
        FailureKind.NOT_CONNECTED,
        FailureKind.RECONNECT_REQUIRED,
        FailureKind.RATE_LIMITED,
    }
)
"""Unless a part was done before."""


@dataclass(frozen=True, slots=True)
class Failure:
    kind: FailureKind
    text: str
    """For the agent: clean, capped, without secrets."""
    retry_after: float | None = None
    """Seconds after which a retry may succeed."""

    is_down: bool = False
    """It shows that the upstream is down."""

    is_answer: bool = False
    """It is the upstream's answer, so the upstream is up."""

    is_begun: bool = False
    """A part was done before it failed."""

    cause: FailureCause | None = None
    """For who manages the server, and for the operator's log."""

    @property
    def is_never_done(self) -> bool:
        """Nothing was carried out, so the same call may be repeated."""
        return self.kind in NEVER_DONE and not self.is_begun


class ToolResult(NamedTuple):
    """`content` and `structured` are JSON, ready to be sent."""

    text: str
    content: bytes
    structured: bytes | None = None
    is_error: bool = False
    failure: Failure | None = None
