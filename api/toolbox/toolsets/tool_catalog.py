"""The tools that one server lists: what each takes, and until when the list is fresh."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from api.kit.redaction import NO_SECRETS, Redactor
from api.kit.turns import Pieces
from api.toolbox.json_schema.normalise import normalise
from api.toolbox.json_schema.validation import Validator
from api.toolbox.output.sanitize import PART, clean, clean_json, shortened
from api.toolbox.tool_names import tool_name
from integrations import ListedTools

FRESH_SECONDS = 300.0
"""If the server does not say."""
LONGEST_HOLD = 24 * 3600.0
USABLE_SECONDS = 3600.0
"""How long a list that is no longer fresh is still shown while a new one is fetched."""
LONGEST_TEXT = 20_000
LONGEST_TOOL = 500_000


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as an agent sees it, with normalised schemas."""

    name: str
    title: str | None
    description: str | None
    input_schema: Mapping[str, Any]
    annotations: Mapping[str, Any] | None
    server_id: str
    upstream_name: str
    output_schema: Mapping[str, Any] | None = None


class ParsedArguments(NamedTuple):
    """Arguments as a tool takes them, or what to change about them."""

    value: Any
    problems: Sequence[str] = ()
    """A sentence each."""
    recorded_name: str | None = None
    """What the audit trail calls this call; None where the arguments do not tell."""


class CatalogTool:
    """A listed tool. What is derived from it is computed once, on first use."""

    def __init__(self, listed: Mapping[str, Any]) -> None:
        self.listed = listed
        self.name: str = listed["name"]

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """Not shown: results of MCP servers are not validated against it."""
        return None

    @cached_property
    def validator(self) -> Validator:
        return Validator.of(self.listed.get("inputSchema"))

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return normalise(self.listed.get("inputSchema"))

    def parse(self, arguments: Any) -> ParsedArguments:
        return ParsedArguments(arguments, self.validator.check(arguments), self.name)

    def with_agent_names(self, text: str, slug: str, *, quoted: bool = False) -> str:  # noqa: ARG002
        """A text about the tool, with tools named as agents know them. An MCP server's own texts stay as they are."""
        return text

    def present(self, name: str, server_id: str, slug: str) -> Tool:  # noqa: ARG002
        return Tool(
            name,
            self.text("title"),
            self.text("description"),
            self.input_schema,
            self.annotations,
            server_id,
            self.name,
            self.output_schema,
        )

    def text(self, field_name: str) -> str | None:
        value = self.listed.get(field_name)
        return shortened(value, LONGEST_TEXT, "") if isinstance(value, str) else None

    @property
    def annotations(self) -> Mapping[str, Any] | None:
        value = self.listed.get("annotations")
        return value if isinstance(value, dict) else None


@dataclass(frozen=True)
class ToolCatalog:
    """In the server's own order; of tools with the same name, the first."""

    tools: Sequence[CatalogTool]
    left_out: int
    listed_at: float
    fresh_until: float
    by_name: Mapping[str, CatalogTool] = field(repr=False)
    naming: Callable[[str, str], str] = tool_name
    _aliases: dict[str, Mapping[str, CatalogTool]] = field(default_factory=dict, repr=False)

    @classmethod
    async def of(cls, tool_list: ListedTools, now: float, redact: Redactor = NO_SECRETS) -> ToolCatalog:
        """In pieces: a list may have megabytes."""
        by_name: dict[str, CatalogTool] = {}
        pieces = Pieces()
        for listed in tool_list.tools:
            if tool := await _without_secrets(listed, redact, pieces):
                by_name.setdefault(tool["name"], CatalogTool(tool))
            await pieces.pause()
        twice = len(tool_list.tools) - len(by_name)
        hold = FRESH_SECONDS if tool_list.ttl_ms is None else min(tool_list.ttl_ms / 1000, LONGEST_HOLD)
        return cls(tuple(by_name.values()), tool_list.left_out + twice, now, now + hold, by_name)

    def by_alias(self, slug: str) -> Mapping[str, CatalogTool]:
        """By the names for agents."""
        if slug not in self._aliases:
            self._aliases.clear()
            aliases: dict[str, CatalogTool] = {}
            for tool in sorted(self.tools, key=lambda tool: tool.name):  # so that names do not depend on the order
                aliases.setdefault(self.naming(slug, tool.name), tool)
            self._aliases[slug] = aliases
        return self._aliases[slug]

    @property
    def is_ready(self) -> bool:
        """Whether `prepare` has finished: it goes in order."""
        return not self.tools or "input_schema" in vars(self.tools[-1])

    async def prepare(self) -> ToolCatalog:
        """In pieces: thousands of schemas take seconds."""
        pieces = Pieces()
        for tool in self.tools:
            _ = tool.input_schema
            await pieces.pause()
        return self

    def is_fresh(self, now: float) -> bool:
        return now < self.fresh_until

    def as_stale(self) -> ToolCatalog:
        """The same, no longer fresh: usable for calls only."""
        return replace(self, fresh_until=self.listed_at, _aliases={})

    def is_usable(self, now: float) -> bool:
        """If the server demands a request each time, an old list is not usable."""
        return self.fresh_until > self.listed_at and now < self.fresh_until + USABLE_SECONDS


class ListVersion:
    """Counts, in this process, how often any server's list was replaced."""

    def __init__(self) -> None:
        self.number = 0


async def _without_secrets(listed: Mapping[str, Any], redact: Redactor, pieces: Pieces) -> Mapping[str, Any] | None:
    """Unchanged if it contains no secret. None if its name does: it could not be called by another one."""
    try:
        text = msgspec.json.encode(listed).decode()
        if len(text) > LONGEST_TOOL:
            return None
        if redact(text) == text and redact(cleaned := await _cleaned(text, pieces)) == cleaned:
            return listed
        safe: dict[str, Any] = clean_json(listed, redact)
    except RecursionError:  # too deep to be searched
        return None
    return safe if safe.get("name") == listed["name"] else None


async def _cleaned(text: str, pieces: Pieces) -> str:
    parts = list[str]()
    for start in range(0, len(text), PART):
        await pieces.pause()
        parts.append(clean(text[start : start + PART]))
    return "".join(parts)
