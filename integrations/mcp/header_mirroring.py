"""Request headers that repeat parts of the body (SEP-2243)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

ANNOTATION = "x-mcp-header"
PREFIX = "Mcp-Param-"
Paths = Mapping[str, tuple[str, ...]]
"""The path of its value in the arguments, by the name of a header."""

MAX_HEADERS = 64
MAX_STEPS = 32
_NAME_PARAMETERS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}")
_SAFE = re.compile(r"[\t\x20-\x7e]*")
_PRIMITIVE = {"string", "integer", "boolean"}
_NAMES_OF_SCHEMAS = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
_DATA = {"const", "enum", "default", "examples", "example"}


class BadAnnotation(ValueError):
    """A tool's schema has an invalid annotation, so that the tool must not be offered."""


def standard_headers(version: str, method: str, params: Mapping[str, Any] | None) -> dict[str, str]:
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    name = params.get(_NAME_PARAMETERS[method]) if params and method in _NAME_PARAMETERS else None
    if isinstance(name, str):
        headers["Mcp-Name"] = encode_value(name)
    return headers


def argument_headers(paths: Paths, arguments: object) -> dict[str, str]:
    values = {PREFIX + name: _value_text(_value_at(path, arguments)) for name, path in paths.items()}
    return {name: encode_value(text) for name, text in values.items() if text is not None}


@lru_cache(1024)
def encode_value(text: str) -> str:
    is_marked = text.startswith("=?base64?") and text.endswith("?=")
    if _SAFE.fullmatch(text) and text == text.strip(" \t") and not is_marked:
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def annotated_paths(schema: object) -> Paths:
    """The paths of annotated arguments by header name; raises `BadAnnotation` for an invalid annotation."""
    paths: dict[str, tuple[str, ...]] = {}
    used_names: set[str] = set()
    for path, subschema in _annotated_parts(schema):
        name = _header_name(path, subschema)
        if name.lower() in used_names:
            raise BadAnnotation(f"two parameters use the header {name}")
        used_names.add(name.lower())
        if len(used_names) > MAX_HEADERS or len(path or ()) > MAX_STEPS:
            raise BadAnnotation(f"it has more than {MAX_HEADERS} of them, or one more than {MAX_STEPS} levels deep")
        paths[name] = path or ()
    return paths


def _header_name(path: tuple[str, ...] | None, schema: Mapping[str, Any]) -> str:
    name = schema[ANNOTATION]
    if not path:
        raise BadAnnotation("an annotated parameter is not reachable by property names alone")
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise BadAnnotation("an annotation is not a valid header name")
    if not _is_primitive(schema.get("type")):
        raise BadAnnotation("an annotated parameter is not a string, integer or boolean")
    return name


def _is_primitive(kind: object) -> bool:
    if isinstance(kind, list):
        return (
            bool(kind) and all(isinstance(type_name, str) for type_name in kind) and set(kind) - {"null"} <= _PRIMITIVE
        )
    return isinstance(kind, str) and kind in _PRIMITIVE


def _annotated_parts(schema: object) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """The annotated subschemas with their paths; None for a path not only of `properties`. Not recursive, as schemas
    are untrusted."""
    waiting: list[tuple[tuple[str, ...] | None, object]] = [((), schema)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, list):
            waiting += [(None, subschema) for subschema in part]
        elif isinstance(part, dict):
            if ANNOTATION in part:
                yield path, part
            waiting += _subschemas(path, part)


def _subschemas(
    path: tuple[str, ...] | None, part: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...] | None, object]]:
    for key, value in part.items():
        if key in _NAMES_OF_SCHEMAS and isinstance(value, dict):
            is_chain = key == "properties" and path is not None
            yield from (
                ((*path, name) if is_chain and path is not None else None, item) for name, item in value.items()
            )
        elif key not in _DATA:
            yield None, value


def _value_at(path: tuple[str, ...], arguments: object) -> object:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, dict) else None
    return arguments


def _value_text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | str) else None
