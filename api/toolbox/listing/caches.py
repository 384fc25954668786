"""What is remembered of agents' tools, so that nothing is put together twice while nothing has changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from api.toolbox.agent_toolbox import Toolbox

REMEMBERED_TOOLBOXES = 10_000
REMEMBERED_LISTS = 2000
REMEMBERED_BYTES = 64_000_000


class Format(StrEnum):
    MCP = "mcp"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class ToolboxCache:
    """Each as of a revision of its workspace, after which it is made anew."""

    def __init__(self, at_most: int = REMEMBERED_TOOLBOXES) -> None:
        self._at_most = at_most
        self._known: OrderedDict[tuple[str, str], tuple[int, Toolbox]] = OrderedDict()

    def get(self, workspace_id: str, agent_id: str, revision: int) -> Toolbox | None:
        known = self._known.get((workspace_id, agent_id))
        return known[1] if known and known[0] == revision else None

    def remember(self, toolbox: Toolbox, revision: int) -> None:
        whose = (toolbox.workspace_id, toolbox.agent.id)
        self._known.pop(whose, None)
        if len(self._known) >= self._at_most:
            self._known.popitem(last=False)
        self._known[whose] = (revision, toolbox)


class RenderedList(NamedTuple):
    toolbox: Toolbox
    made_of: Sequence[object]
    made: bytes
    changes: int
    holds_until: float


class RenderedListCache:
    """The bytes of lists, each for as long as it would be made of the same things."""

    def __init__(self, at_most: int = REMEMBERED_LISTS, bytes_at_most: int = REMEMBERED_BYTES) -> None:
        self._at_most = at_most
        self._bytes_at_most = bytes_at_most
        self._bytes = 0
        self._known: OrderedDict[tuple[str, str, Format], RenderedList] = OrderedDict()

    def at_once(self, toolbox: Toolbox, form: Format, changes: int, now: float) -> bytes | None:
        """Where nothing at all has changed meanwhile, it is not even asked what the list is made of."""
        known = self._known.get(_place(toolbox, form))
        if known is None or known.toolbox is not toolbox or known.changes != changes or now >= known.holds_until:
            return None
        return known.made

    def get(self, toolbox: Toolbox, form: Format, made_of: Sequence[object]) -> bytes | None:
        known = self._known.get(_place(toolbox, form))
        if known is None or known.toolbox is not toolbox or len(known.made_of) != len(made_of):
            return None
        same = all(before is now for before, now in zip(known.made_of, made_of, strict=True))
        return known.made if same else None

    def remember(self, form: Format, known: RenderedList) -> None:
        place, size = _place(known.toolbox, form), len(known.made)
        self._forget(place)
        while self._known and (len(self._known) >= self._at_most or self._bytes + size > self._bytes_at_most):
            self._forget(next(iter(self._known)))
        self._known[place] = known
        self._bytes += size

    def _forget(self, place: tuple[str, str, Format]) -> None:
        if known := self._known.pop(place, None):
            self._bytes -= len(known.made)


def _place(toolbox: Toolbox, form: Format) -> tuple[str, str, Format]:
    return toolbox.workspace_id, toolbox.agent.id, form
