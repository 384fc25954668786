"""Cursors of a channel's history: Slack's own cursor, and the state that Slack does not keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from integrations.service_client import ToolFailed
from integrations.slack.references import TS

OUR_PREFIX = "ts:"
"""The prefix of our own cursors; Slack's cursors have no colon."""
FOREIGN_CURSOR = "The `cursor` was not returned by this tool. Start again without it."
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class HistoryCursor:
    slack: str | None = None
    end: str | None = None
    """A bound in reading order; no message before it comes again."""
    thread: str | None = None
    """The thread's parent message, if the request named one of its replies."""

    @classmethod
    def parse(cls, cursor: str | None) -> Self:
        if not cursor or not cursor.startswith(OUR_PREFIX):
            return cls(slack=cursor or None)
        thread, *rest = cursor.removeprefix(OUR_PREFIX).split(":", 2)
        end, slack = rest if len(rest) == 2 else ("none", "")  # noqa: PLR2004  one of three parts is the thread
        if not all(TS.fullmatch(ts) for ts in (thread, end) if ts):
            raise ToolFailed("invalid_arguments", FOREIGN_CURSOR)
        return cls(slack or None, end or None, thread or None)

    def encode(self) -> str | None:
        if not (self.end or self.thread):
            return self.slack
        return f"{OUR_PREFIX}{self.thread or ''}:{self.end or ''}:{self.slack or ''}"


def beside(ts: str, step: int) -> str:
    """The timestamp directly before (`step` -1) or after (`step` 1) a message."""
    seconds, _, rest = ts.partition(".")
    moment = int(seconds) * MILLION + int(rest.ljust(6, "0")) + step
    return f"{moment // MILLION}.{moment % MILLION:06d}"
