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
from api.toolbox.json_schema.validator_size import validator_size
from api.toolbox.output.sanitize import shortened
from api.toolbox.tool_names import tool_name
from api.toolbox.toolsets.listed_tool import used_fields, without_secrets
from integrations import ListedTools

FRESH_SECONDS = 300.0
"""If the server does not say."""
LONGEST_HOLD = 24 * 3600.0
USABLE_SECONDS = 3600.0
"""How long a list that is no longer fresh is still shown while a new one is fetched."""
TOOL_BYTES = 1700
"""What a tool takes besides its texts: the object, and its places in the list and in the maps of names."""
LONGEST_TEXT = 20_000

OnProblem = Callable[[str, str], None]
"""Takes the name of a tool, and why its schema cannot be applied in full."""

_decode = msgspec.json.Decoder(dict[str, Any], float_hook=float).decode  # its own is slow with large exponents


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
    """A listed tool, and its normalised schema, as JSON: decoded, they take up to twenty times as much memory.

    What is derived from it is computed once, on first use.
    """

    def __init__(
        self,
        listed: Mapping[str, Any],
        on_growth: Callable[[], None] = lambda: None,
        on_problem: OnProblem = lambda _name, _problem: None,
    ) -> None:
        """`on_problem` is called once if not all of the arguments can be checked."""
        self.name: str = listed["name"]
        self._json = _encode(listed)
        self._schema: bytes | None = None
        self._validator_size = 0
        self._on_growth = on_growth
        self._on_problem = on_problem

    @property
    def listed(self) -> dict[str, Any]:
        return _decode(self._json)

    @property
    def size(self) -> int:
        """In bytes: an estimate."""
        texts = 2 * len(self.name) + len(self._json) + len(self._schema or b"")
        return TOOL_BYTES + texts + self._validator_size

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """Not shown: results of MCP servers are not validated against it."""
        return None

    @cached_property
    def validator(self) -> Validator:
        schema = self.listed.get("inputSchema")
        validator = Validator.of(schema)
        self._validator_size = validator_size(schema, len(self._json))
        self._on_growth()
        if validator.problem:
            self._on_problem(self.name, validator.problem)
        return validator

    @property
    def is_prepared(self) -> bool:
        return self._schema is not None

    def prepare(self) -> None:
        if self._schema is None:
            self._schema = _encode(normalise(self.listed.get("inputSchema")))

    @property
    def input_schema(self) -> dict[str, Any]:
        self.prepare()
        return _decode(self._schema or b"")

    def parse(self, arguments: Any) -> ParsedArguments:
        return ParsedArguments(arguments, self.validator.check(arguments), self.name)

    def with_agent_names(self, text: str, slug: str, *, quoted: bool = False) -> str:  # noqa: ARG002
        """A text about the tool, with tools named as agents know them. An MCP server's own texts stay as they are."""
        return text

    def present(self, name: str, server_id: str, slug: str) -> Tool:  # noqa: ARG002
        listed = self.listed
        annotations = listed.get("annotations")
        return Tool(
            name,
            _text(listed.get("title")),
            _text(listed.get("description")),
            self.input_schema,
            annotations if isinstance(annotations, dict) else None,
            server_id,
            self.name,
            self.output_schema,
        )


@dataclass(frozen=True)
class ToolCatalog:
    """In the server's own order; of tools with the same name, the first."""

    tools: Sequence[CatalogTool]
    left_out: int
    listed_at: float
    fresh_until: float
    by_name: Mapping[str, CatalogTool] = field(repr=False)
    naming: Callable[[str, str], str] = tool_name
    on_growth: Callable[[], None] = field(default=lambda: None, repr=False)
    _aliases: dict[str, Mapping[str, CatalogTool]] = field(default_factory=dict, repr=False)

    @classmethod
    async def of(
        cls,
        tool_list: ListedTools,
        now: float,
        redact: Redactor = NO_SECRETS,
        on_growth: Callable[[], None] = lambda: None,
        on_problem: OnProblem = lambda _name, _problem: None,
    ) -> ToolCatalog:
        """In pieces: a list may have megabytes. `on_growth` is called when something derived from a tool is kept."""
        by_name: dict[str, CatalogTool] = {}
        pieces = Pieces()
        for listed in tool_list.tools:
            tool = await without_secrets(listed, redact, pieces)
            if tool and tool["name"] not in by_name:
                by_name[tool["name"]] = CatalogTool(used_fields(tool), on_growth, on_problem)
            await pieces.pause()
        twice = len(tool_list.tools) - len(by_name)
        hold = FRESH_SECONDS if tool_list.ttl_ms is None else min(tool_list.ttl_ms / 1000, LONGEST_HOLD)
        return cls(tuple(by_name.values()), tool_list.left_out + twice, now, now + hold, by_name, on_growth=on_growth)

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
    def size(self) -> int:
        """In bytes: an estimate."""
        return sum(tool.size for tool in self.tools)

    @property
    def is_ready(self) -> bool:
        """Whether `prepare` has finished: it goes in order."""
        return not self.tools or self.tools[-1].is_prepared

    async def prepare(self) -> ToolCatalog:
        """In pieces: thousands of schemas take seconds."""
        if self.is_ready:
            return self
        pieces = Pieces()
        for tool in self.tools:
            tool.prepare()
            await pieces.pause()
        self.on_growth()
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


def _encode(value: object) -> bytes:
    """A copy, because the encoder's own result holds up to half as much memory again."""
    return bytes(memoryview(msgspec.json.encode(value)))


def _text(value: object) -> str | None:
    return shortened(value, LONGEST_TEXT, "") if isinstance(value, str) else None
