"""Renderers of tool lists, one for each client format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from api.kit.redaction import NO_SECRETS
from api.kit.turns import Pieces
from api.toolbox.json_schema.flatten import Schema, with_note
from api.toolbox.listing.tool_list import ToolList
from api.toolbox.output.json_size import JsonSize, measure
from api.toolbox.output.sanitize import clean, clean_json, one_line, shortened
from api.toolbox.toolsets.tool_catalog import Tool

OPENAI_DESCRIPTION = 1024  # OpenAI refuses a whole request with a longer one
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # what Anthropic accepts as a property name at the top level
_LONGEST_HINT = 200
_SMALL = JsonSize(4, 20)
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class Format(StrEnum):
    MCP = "mcp"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


def as_mcp(tool: Tool) -> Schema:
    shown = {
        "name": tool.name,
        "title": clean(tool.title or ""),
        "description": clean(tool.description or ""),
        "inputSchema": dict(tool.input_schema),
        "outputSchema": dict(tool.output_schema or {}),
        "annotations": _annotations(tool.annotations),
    }
    return {field: value for field, value in shown.items() if value}


def as_openai(tool: Tool) -> Schema:
    function: Schema = {"name": tool.name}
    if description := _description(tool):
        function["description"] = shortened(description, OPENAI_DESCRIPTION, "")
    return {"type": "function", "function": function | {"parameters": dict(tool.input_schema)}}


def as_anthropic(tool: Tool) -> Schema:
    shown: Schema = {"name": tool.name}
    if description := _description(tool):
        shown["description"] = description
    return shown | {"input_schema": _with_plain_properties(tool.input_schema)}


def _description(tool: Tool) -> str:
    return clean(tool.description or tool.title or "")


def _annotations(annotations: Mapping[str, Any] | None) -> Schema:
    """The annotations without hints that are not booleans, for which a strict client drops the whole tool, and without
    names that hide something."""
    if not isinstance(annotations, dict):
        return {}
    return {
        word: one_line(value, _LONGEST_HINT) if isinstance(value, str) else clean_json(value, NO_SECRETS)
        for word, value in annotations.items()
        if clean(word) == word
        and measure(value, _SMALL)
        and not (word in _HINTS and not isinstance(value, bool))
        and not (word == "title" and not isinstance(value, str))
    }


def _with_plain_properties(schema: Mapping[str, Any]) -> Schema:
    """The schema without properties whose names make Anthropic refuse the whole request."""
    properties = schema.get("properties", {})
    refused = [name for name in properties if not _PROPERTY.fullmatch(name)]
    if not refused:
        return dict(schema)
    kept = {**schema, "properties": {name: value for name, value in properties.items() if name not in refused}}
    if "required" in schema:
        kept["required"] = [name for name in schema["required"] if name not in refused]
    refused_names = ", ".join(f"`{name}`" for name in refused[:8])
    return with_note(kept, f"(Not shown, for their names: {clean(refused_names)[:400]}.)")


def as_upstream(tool: Tool) -> Schema:
    """The MCP format with the name by which an agent's rules allow the tool."""
    return as_mcp(tool) | {"upstreamName": tool.upstream_name}


FORMATS: Mapping[Format, Callable[[Tool], Schema]] = {
    Format.MCP: as_mcp,
    Format.OPENAI: as_openai,
    Format.ANTHROPIC: as_anthropic,
}


async def render(tools: ToolList, show: Callable[[Tool], Schema]) -> bytes:
    """In pieces: a list may have thousands of tools."""
    unavailable = [
        {"serverId": server.server_id, "name": server.name, "reason": server.reason, "detail": server.detail}
        for server in tools.unavailable
    ]
    shown, pieces = list[bytes](), Pieces()
    for tool in tools.tools:
        shown.append(msgspec.json.encode(show(tool)))
        await pieces.pause()
    return b'{"tools":[%b],"unavailable":%b}' % (b",".join(shown), msgspec.json.encode(unavailable))
