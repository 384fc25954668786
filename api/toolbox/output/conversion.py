"""Where results are converted: small ones on the event loop, large ones in a thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from api.kit.fair_thread import FairThread
from api.kit.redaction import Redactor
from api.toolbox.output.results import is_small
from api.toolbox.output.tool_result import ToolResult

Conversion = Callable[[dict[str, Any], Redactor], ToolResult]


@dataclass(frozen=True, slots=True)
class LargeResults:
    """The thread as one workspace has it."""

    thread: FairThread
    workspace_id: str

    async def convert(self, conversion: Conversion, result: dict[str, Any], redact: Redactor) -> ToolResult:
        """Cleaning megabytes takes up to a second, and a cancelled call waits for it no longer."""
        if is_small(result, redact):
            return conversion(result, redact)
        return await self.thread.run(self.workspace_id, partial(conversion, result, redact))
