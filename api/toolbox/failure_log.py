"""The log lines of failed calls, lists and checks, and of schemas that cannot be applied: which server, and why."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from api.access.context import WorkspaceContext
from api.kit.redaction import Redactor
from api.toolbox.failures import ToolsUnavailable
from api.toolbox.output.sanitize import safe_line
from api.toolbox.output.tool_result import Failure, FailureKind
from integrations import FailureCause

log = logging.getLogger("plugboard.upstream")
LONGEST_DETAIL = 300
MAX_UNCHECKED = 20
"""Lines about one list: a server may list thousands of tools."""
ARGUMENTS = frozenset({FailureKind.INVALID_ARGUMENTS})
"""The agent's own mistakes: nothing is wrong with the server."""


@dataclass(frozen=True, slots=True)
class FailureLog:
    """Writes what fails at one server on behalf of one request."""

    ctx: WorkspaceContext
    server_id: str
    agent_id: str | None = None

    def call_failed(self, failure: Failure, redact: Redactor, milliseconds: int) -> None:
        if failure.kind not in ARGUMENTS:
            self._warn("tool call failed", failure.kind.value, failure.cause, redact, milliseconds)

    def list_failed(self, failed: ToolsUnavailable, redact: Redactor) -> None:
        """A list that an open circuit breaker holds back has no cause of its own, and no line."""
        if failed.cause is not None:
            self._warn("tools not listed", failed.reason, failed.cause, redact)

    def check_failed(self, failed: ToolsUnavailable, redact: Redactor) -> None:
        self._warn("check failed", failed.reason, failed.cause, redact)

    def _warn(
        self,
        message: str,
        outcome: str,
        cause: FailureCause | None,
        redact: Redactor,
        milliseconds: int | None = None,
    ) -> None:
        log.warning(
            message,
            extra={
                "request_id": self.ctx.request_id,
                "workspace": self.ctx.workspace_id,
                "key": self.ctx.principal.id,
                "server": self.server_id,
                "agent": self.agent_id,
                "outcome": outcome,
                "cause": cause.word if cause else None,
                "detail": safe_line(cause.detail, redact, LONGEST_DETAIL) if cause and cause.detail else None,
                "ms": milliseconds,
            },
        )


class UncheckedTools:
    """Logs the tools of one list whose schemas cannot be applied, or not in full: their servers see any arguments."""

    def __init__(self, workspace_id: str, server_id: str) -> None:
        self._places = {"workspace": workspace_id, "server": server_id}
        self._lines_left = MAX_UNCHECKED

    def __call__(self, tool_name: str, problem: str) -> None:
        if self._lines_left:
            self._lines_left -= 1
            detail = safe_line(f"{tool_name}: {problem}", limit=LONGEST_DETAIL)
            log.info("arguments not checked in full", extra={**self._places, "detail": detail})


def log_left_out(workspace_id: str, server_id: str, reasons: Mapping[str, int]) -> None:
    """One line for a list, without anything that its server wrote, which is not redacted yet."""
    if reasons:
        detail = "; ".join(f"{count}: {reason}" for reason, count in reasons.items())
        log.warning("tools left out", extra={"workspace": workspace_id, "server": server_id, "detail": detail})
