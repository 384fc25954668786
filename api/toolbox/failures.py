"""In which ways can a call of a tool fail?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FailureKind(StrEnum):
    """All there are: who handles each of them has handled everything."""

    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_CONNECTED = "not_connected"
    RECONNECT_REQUIRED = "reconnect_required"
    RATE_LIMITED = "rate_limited"
    UPSTREAM_UNAVAILABLE = "upstream_unavailable"
    UPSTREAM_REFUSED = "upstream_refused"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Failure:
    kind: FailureKind
    text: str
    """What the agent reads: clean, capped, without secrets."""
    retry_after: float | None = None
    """Seconds after which it may be worth another try."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", FailureKind(self.kind))
