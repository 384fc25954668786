"""How is a tool described so that OpenAI's, Anthropic's and MCP's clients take it as it stands?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
import msgspec

from api.toolbox.json_schema import patterns
from api.toolbox.json_schema.cost import JsonSize, measure
from api.toolbox.json_schema.flatten import Schema, flatten_top_level, noted
from api.toolbox.json_schema.normalise import normalise_subschema
from api.toolbox.output.redaction import NO_SECRETS
from api.toolbox.output.results import cleaned
from api.toolbox.output.sanitize import clean, one_line, shortened

MAX_BYTES = 64_000  # a list of 400 tools has to stay a list
_MOST = JsonSize(100, 20_000)
_TOO_LARGE = "(Too large to be described in full.)"
_WRONG = "(The description of the arguments could not be read.)"
OPENAI_DESCRIPTION = 1024  # a longer one and OpenAI refuses the whole request
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # what Anthropic takes as the name of a property at the top
_LONGEST_HINT = 200
_SMALL = JsonSize(4, 20)
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def normalise(schema: object) -> Schema:
    """A schema that strict clients accept: always an object's, nothing fetched, bounded, nothing refused at the top."""
    if not isinstance(schema, dict) or not schema:
        return _empty()
    if measure(schema, _MOST) is None or patterns.are_too_many(schema):
        return noted(_empty(), _TOO_LARGE)
    flat = flatten_top_level(schema)
    made = normalise_subschema(flat, flat)
    if not isinstance(made, dict) or not _is_right(made):
        return noted(_empty(), _WRONG)
    return made if _size(made) <= MAX_BYTES else _outline(made)


def _empty() -> Schema:
    return {"type": "object", "properties": {}}


def _is_right(schema: Schema) -> bool:
    """Whether it is JSON, and compiles without asking anybody."""
    try:
        jsonschema_rs.Draft202012Validator(schema, offline=True, pattern_options=patterns.OPTIONS)
        msgspec.json.encode(schema)
    except (ValueError, TypeError):  # a ValidationError is a ValueError; so is what cannot be written as UTF-8
        return False
    return True


def _size(schema: Schema) -> int:
    return len(msgspec.json.encode(schema))


def _outline(schema: Schema) -> Schema:
    """Only names and types at the top, if even those are few enough."""
    kept = {name: {"type": each["type"]} if _has_type(each) else {} for name, each in schema["properties"].items()}
    outline = noted(_empty() | {"properties": kept, "required": schema.get("required", [])}, _TOO_LARGE)
    return outline if _size(outline) <= MAX_BYTES else noted(_empty(), _TOO_LARGE)


def _has_type(schema: object) -> bool:
    return isinstance(schema, dict) and schema.get("type") not in (None, "array")


@dataclass(frozen=True, slots=True)
class Tool:
    """One callable of a toolbox. Its schemas are shown as they are: `normalised` first."""

    name: str
    title: str | None
    description: str | None
    input_schema: Mapping[str, Any]
    annotations: Mapping[str, Any] | None
    server_id: str
    upstream_name: str
    output_schema: Mapping[str, Any] | None = None


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


def _annotations(found: Mapping[str, Any] | None) -> Schema:
    """Without a hint that is no yes or no: a strict client would drop the tool for it."""
    if not isinstance(found, dict):
        return {}
    return {
        word: one_line(value, _LONGEST_HINT) if isinstance(value, str) else cleaned(value, NO_SECRETS)
        for word, value in found.items()
        if measure(value, _SMALL)
        and not (word in _HINTS and not isinstance(value, bool))
        and not (word == "title" and not isinstance(value, str))
    }


def _with_plain_properties(schema: Mapping[str, Any]) -> Schema:
    """Without properties whose names Anthropic refuses. One of them and it refuses the whole request."""
    properties = schema.get("properties", {})
    odd = [name for name in properties if not _PROPERTY.fullmatch(name)]
    if not odd:
        return dict(schema)
    made = {**schema, "properties": {name: each for name, each in properties.items() if name not in odd}}
    if "required" in schema:
        made["required"] = [name for name in schema["required"] if name not in odd]
    named = ", ".join(f"`{name}`" for name in odd[:8])
    return noted(made, f"(Not shown, for their names: {clean(named)[:400]}.)")
