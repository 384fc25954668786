"""Request headers that repeat parts of the body (SEP-2243)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from integrations.errors import ArgumentRefused

ANNOTATION = "x-mcp-header"
PREFIX = "Mcp-Param-"
Paths = Mapping[str, tuple[str, ...]]
"""The path of its value in the arguments, by the name of a header."""

MAX_HEADERS = 64
MAX_STEPS = 32
MAX_PARTS = 10_000
"""The most values of a schema with annotations."""
MAX_VALUE = 8_192
"""In bytes. Most servers refuse requests with longer headers."""
_MARK = ANNOTATION.encode()
_NAME_PARAMETERS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}")
_SAFE = re.compile(r"[\t\x20-\x7e]*")
_PRIMITIVE = {"string", "integer", "boolean"}
_NAMES_OF_SCHEMAS = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
_DATA = {"const", "enum", "default", "examples", "example"}


class BadAnnotation(ValueError):
    """A tool's schema has an invalid annotation, so that the tool must not be offered. Its text is ours alone."""


def standard_headers(version: str, method: str, params: Mapping[str, Any] | None) -> dict[str, str]:
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    name = params.get(_NAME_PARAMETERS[method]) if params and method in _NAME_PARAMETERS else None
    if isinstance(name, str):
        headers["Mcp-Name"] = _name_header(_NAME_PARAMETERS[method], name)
    return headers


def argument_headers(paths: Paths, arguments: object) -> dict[str, str]:
    """Raises `ArgumentRefused` for an argument that is too long for a header."""
    values = {name: _value_text(_value_at(path, arguments)) for name, path in paths.items()}
    return {PREFIX + name: _header_value(paths[name], text) for name, text in values.items() if text is not None}


@lru_cache(maxsize=256)
def _name_header(parameter: str, name: str) -> str:
    return _header_value((parameter,), name)


def _header_value(path: tuple[str, ...], text: str) -> str:
    value = encode_value(text)
    if len(value) > MAX_VALUE:
        raise ArgumentRefused(
            f"The argument `{'.'.join(path)}` is too long: this server takes it in an HTTP header, which may have "
            f"{MAX_VALUE} bytes. Send a shorter value. Nothing was sent."
        )
    return value


def encode_value(text: str) -> str:
    is_marked = text.startswith("=?base64?") and text.endswith("?=")
    if _SAFE.fullmatch(text) and text == text.strip(" \t") and not is_marked:
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def annotated_paths(schema: object) -> Paths:
    """The paths of annotated arguments by header name; raises `BadAnnotation` for an invalid annotation.

    Most schemas have none, which their text shows much faster than their parts.
    """
    return _paths_in(schema) if _may_be_annotated(schema) else {}


def _may_be_annotated(schema: object) -> bool:
    try:
        return _MARK in msgspec.json.encode(schema)
    except RecursionError:  # too deep to be encoded
        return True


def _paths_in(schema: object) -> Paths:
    paths: dict[str, tuple[str, ...]] = {}
    used_names: set[str] = set()
    for path, subschema in _annotated_parts(schema):
        name = _header_name(path, subschema)
        if name.lower() in used_names:
            raise BadAnnotation("two parameters use the same header")
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
    seen = 0
    while waiting:
        path, part = waiting.pop()
        seen += 1
        if seen + len(waiting) > MAX_PARTS:
            raise BadAnnotation(f"its schema has more than {MAX_PARTS} values")
        if isinstance(part, list):
            waiting += [(None, subschema) for subschema in part[: MAX_PARTS + 1]]
        elif isinstance(part, dict):
            if ANNOTATION in part:
                yield path, part
            waiting += islice(_subschemas(path, part), MAX_PARTS + 1)


def _subschemas(
    path: tuple[str, ...] | None, part: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...] | None, object]]:
    for key, value in part.items():
        if key in _NAMES_OF_SCHEMAS and isinstance(value, dict):
            is_chain = key == "properties"
            yield from ((_longer(path, name) if is_chain else None, item) for name, item in value.items())
        elif key not in _DATA:
            yield None, value


def _longer(path: tuple[str, ...] | None, name: str) -> tuple[str, ...] | None:
    """A path that is too long already stays: copies of long paths would take most of the time."""
    return path if path is None or len(path) > MAX_STEPS else (*path, name)


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
