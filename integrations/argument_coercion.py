"""Coerces values of nearly the right form: a list of one, JSON as text, a word in other letters."""

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
    """What one parameter takes, as its schema says."""

    types: frozenset[str]
    """None: anything."""

    words: Mapping[str, str] = field(default_factory=dict)
    """If only these: each by its plain spelling."""

    def coerce(self, value: object) -> object:
        """As it is, where it is not surely something else that was meant."""
        match value:
            case [str() | int() | float() as only] if self.types and "array" not in self.types:
                return self.coerce(only)
            case str() if self.words:
                return self.words.get(plain_name(value), value)
            case str():
                return self._coerce_json(value)
            case _:
                return value

    def _coerce_json(self, text: str) -> object:
        wanted = tuple(JSON_TYPES[name] for name in self.types & JSON_TYPES.keys())
        if not wanted or len(text) > LONGEST_JSON:
            return text
        value = from_json_text(text)
        return value if isinstance(value, wanted) else text


def parameter_forms(schema: Schema) -> dict[str, ParameterForm]:
    """By the names of the parameters."""
    defined = schema.get("$defs", {})
    return {name: _form(list(_choices(each, defined))) for name, each in schema.get("properties", {}).items()}


def from_json_text(value: object) -> object:
    """The list or object of a text that is JSON, as models write them now and then; anything else unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def plain_name(name: str) -> str:
    """The ASCII letters and digits of a parameter's name or of a fixed word, in lower case."""
    return _NOT_PLAIN.sub("", name.lower())


def _form(choices: Sequence[Schema]) -> ParameterForm:
    types = [each.get("type") for each in choices]
    if not all(isinstance(each, str) for each in types):
        return ParameterForm(frozenset())
    words = [word for each in choices for word in each.get("enum", [each["const"]] if "const" in each else [])]
    all_are_words = all("enum" in each or "const" in each for each in choices if each.get("type") != "null")
    spelt = {plain_name(word): word for word in words if isinstance(word, str)}
    return ParameterForm(frozenset(map(str, types)), spelt if all_are_words and len(spelt) == len(words) else {})


def _choices(schema: Schema, defined: Mapping[str, Schema]) -> Iterator[Schema]:
    if "$ref" in schema:
        yield from _choices(defined[schema["$ref"].rpartition("/")[2]], defined)
    elif "anyOf" in schema:
        for each in schema["anyOf"]:
            yield from _choices(each, defined)
    else:
        yield schema
