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
"""By the name of a header, where in the arguments its value is."""

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}")
_SAFE = re.compile(r"[\t\x20-\x7e]*")
_PRIMITIVE = {"string", "integer", "boolean"}
_NAMES_OF_SCHEMAS = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
_DATA = {"const", "enum", "default", "examples", "example"}


class BadAnnotation(ValueError):
    """A tool that must not be offered."""


def standard_headers(version: str, method: str, params: Mapping[str, Any] | None) -> dict[str, str]:
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    name = params.get(_NAMED[method]) if params and method in _NAMED else None
    if isinstance(name, str):
        headers["Mcp-Name"] = encoded(name)
    return headers


def argument_headers(paths: Paths, arguments: object) -> dict[str, str]:
    found = {PREFIX + name: _written(_at(path, arguments)) for name, path in paths.items()}
    return {name: encoded(text) for name, text in found.items() if text is not None}


@lru_cache(1024)
def encoded(text: str) -> str:
    is_marked = text.startswith("=?base64?") and text.endswith("?=")
    if _SAFE.fullmatch(text) and text == text.strip(" \t") and not is_marked:
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def annotated_paths(schema: object) -> Paths:
    """Raises `BadAnnotation` where an annotation is not as the specification has it."""
    found: dict[str, tuple[str, ...]] = {}
    taken: set[str] = set()
    for path, part in _annotated_parts(schema):
        name = _header_name(path, part)
        if name.lower() in taken:
            raise BadAnnotation(f"two parameters want the header {name}")
        taken.add(name.lower())
        found[name] = path or ()
    return found


def _header_name(path: tuple[str, ...] | None, part: Mapping[str, Any]) -> str:
    name = part[ANNOTATION]
    if not path:
        raise BadAnnotation("an annotation is not on a parameter that can be reached by names alone")
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise BadAnnotation("an annotation is no name of a header")
    if not _is_primitive(part.get("type")):
        raise BadAnnotation("an annotated parameter is no string, integer or boolean")
    return name


def _is_primitive(kind: object) -> bool:
    if isinstance(kind, list):
        return (
            bool(kind) and all(isinstance(type_name, str) for type_name in kind) and set(kind) - {"null"} <= _PRIMITIVE
        )
    return isinstance(kind, str) and kind in _PRIMITIVE


def _annotated_parts(schema: object) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """With its path each, None where that is not by `properties` alone. Not recursive: schemas come from outside."""
    waiting: list[tuple[tuple[str, ...] | None, object]] = [((), schema)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, list):
            waiting += [(None, subschema) for subschema in part]
        elif isinstance(part, dict):
            if ANNOTATION in part:
                yield path, part
            waiting += _below(path, part)


def _below(path: tuple[str, ...] | None, part: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...] | None, object]]:
    for key, value in part.items():
        if key in _NAMES_OF_SCHEMAS and isinstance(value, dict):
            is_chain = key == "properties" and path is not None
            yield from (
                ((*path, name) if is_chain and path is not None else None, item) for name, item in value.items()
            )
        elif key not in _DATA:
            yield None, value


def _at(path: tuple[str, ...], arguments: object) -> object:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, dict) else None
    return arguments


def _written(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | str) else None
