"""Coercion of almost valid arguments: a list of one item, JSON as text, an enum value in another spelling."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

JSON_TYPES: Mapping[str, type] = {"array": list, "object": dict}
LONGEST_JSON = 200_000
_NOT_PLAIN = re.compile(r"[^a-z0-9]")

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class ParameterForm:
    """The types and the enum values that the schema of one parameter allows."""

    types: frozenset[str]
    """Empty if every type is allowed."""

    words: Mapping[str, str] = field(default_factory=dict)
    """The allowed values by their plain spelling; empty if other values are allowed too."""

    def coerce(self, value: object) -> object:
        """The coerced value, or the value itself where its meaning is not certain."""
        match value:
            case [str() | int() | float() as item] if self.types and "array" not in self.types:
                return self.coerce(item)
            case str() if self.words:
                return self.words.get(plain_name(value), value)
            case str():
                return self._coerce_json(value)
            case _:
                return value

    def _coerce_json(self, text: str) -> object:
        json_types = tuple(JSON_TYPES[name] for name in self.types & JSON_TYPES.keys())
        if not json_types or len(text) > LONGEST_JSON:
            return text
        value = from_json_text(text)
        return value if isinstance(value, json_types) else text


def parameter_forms(schema: Schema) -> dict[str, ParameterForm]:
    """The form of each parameter, by name."""
    definitions = schema.get("$defs", {})
    return {
        name: _form(list(_choices(property_schema, definitions)))
        for name, property_schema in schema.get("properties", {}).items()
    }


def from_json_text(value: object) -> object:
    """The list or object that a text holds as JSON, which models write sometimes; any other value unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def plain_name(name: str) -> str:
    """The ASCII letters and digits of a parameter's name or of an enum value, in lower case."""
    return _NOT_PLAIN.sub("", name.lower())


def _form(choices: Sequence[Schema]) -> ParameterForm:
    types = [choice.get("type") for choice in choices]
    if not all(isinstance(name, str) for name in types):
        return ParameterForm(frozenset())
    values = [
        value for choice in choices for value in choice.get("enum", [choice["const"]] if "const" in choice else [])
    ]
    all_are_values = all("enum" in choice or "const" in choice for choice in choices if choice.get("type") != "null")
    by_spelling = {plain_name(value): value for value in values if isinstance(value, str)}
    return ParameterForm(
        frozenset(map(str, types)), by_spelling if all_are_values and len(by_spelling) == len(values) else {}
    )


def _choices(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[Schema]:
    if "$ref" in schema:
        yield from _choices(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    elif "anyOf" in schema:
        for choice in schema["anyOf"]:
            yield from _choices(choice, definitions)
    else:
        yield schema
