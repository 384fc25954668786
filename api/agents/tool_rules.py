"""Tool rules, compared with what is known of the servers' tools without a request."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Protocol

from api.kit.turns import Pieces

MAX_WARNINGS = 20
"""Names that are explained. An agent may have thousands, and finding the nearest name takes a millisecond or more."""

Rules = Mapping[str, Sequence[str]]
"""By server id, the own names of the tools that an agent may use."""


class ServerTools(Protocol):
    """The tools of one server, as far as they are known."""

    def own_name(self, name: str) -> str:
        """The tool's own name, if this is the name that agents use for it; otherwise unchanged."""
        ...

    def lacks(self, name: str) -> bool:
        """Whether the server is known to have no tool of this name."""
        ...

    def explain_missing(self, name: str) -> str:
        """That the server has no such tool, with the nearest name."""
        ...


class KnownTools(Protocol):
    async def of(self, server_ids: Collection[str]) -> Mapping[str, ServerTools]:
        """Reads all at once, and asks no server."""
        ...


async def with_own_names(rules: Rules, known: Mapping[str, ServerTools]) -> dict[str, Sequence[str]]:
    """The rules with every tool by its own name, once."""
    pieces, named = Pieces(), dict[str, Sequence[str]]()
    for server_id, names in rules.items():
        tools = known.get(server_id)
        named[server_id] = names if tools is None else list(dict.fromkeys(map(tools.own_name, names)))
        await pieces.pause()
    return named


async def rule_warnings(rules: Rules, known: Mapping[str, ServerTools]) -> list[str]:
    """A sentence for each name that its server does not list."""
    pieces, warnings = Pieces(), list[str]()
    missing = chain.from_iterable(_missing(names, known.get(server_id)) for server_id, names in rules.items())
    for tools, name in islice(missing, MAX_WARNINGS):
        warnings.append(tools.explain_missing(name))
        await pieces.pause()
    if more := sum(1 for _ in missing):
        warnings.append(f"{more} more names in tool rules are listed by no server.")
    return warnings


def _missing(names: Sequence[str], tools: ServerTools | None) -> Iterable[tuple[ServerTools, str]]:
    return ((tools, name) for name in names if tools.lacks(name)) if tools else ()
