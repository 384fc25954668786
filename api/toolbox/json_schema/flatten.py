"""A schema with alternatives at the top, flattened into one plain object.

OpenAI's API refuses a tool with `oneOf`, `anyOf`, `allOf`, `enum`, `const` or `not` at the top, Anthropic's one with
the first three, and each then refuses the whole request. So the alternatives are merged: every property of every
alternative is allowed, properties that all require are required, and a sentence says which belong together. That
permits more than the original, against which arguments are still validated.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

from api.toolbox.json_schema.references import resolve_pointer

Schema = dict[str, Any]
_CHOICES = ("oneOf", "anyOf")
_REFUSED = ("enum", "const", "not")
_MERGED = frozenset({"$ref", "allOf", "properties", "required", *_CHOICES})
_MOST_SCHEMAS = 500  # references can turn a few into any number
_MOST_ENTRIES = 15_000
"""Properties and required names that are merged; the time is proportional to it."""
ELSEWHERE = "(Described elsewhere: any value may be given.)"
MAX_CHOICES_NAMED = 8
MAX_NAMES_OF_A_CHOICE = 20


def flatten_top_level(schema: Mapping[str, Any]) -> Schema:
    """The schema with `type: object` and none of the refused keywords at its top."""
    flat = _Flattening(schema).flatten(dict(schema))
    return {
        **{word: value for word, value in flat.words.items() if word not in _REFUSED},
        "type": "object",
        "properties": flat.plain_properties(),
        **({"required": list(flat.required)} if flat.required else {}),
    }


def with_note(schema: Schema, note: str) -> Schema:
    description = schema.get("description")
    return {**schema, "description": f"{description}\n{note}" if isinstance(description, str) and description else note}


@dataclass(slots=True)
class _Flat:
    """The conjunction of schemas. If two have the same keyword, that of the first is kept."""

    words: Schema = field(default_factory=dict)
    properties: dict[str, dict[Hashable, Any]] = field(default_factory=dict)
    """The different schemas that a property has to fit, each by its content."""
    required: dict[str, None] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        return 1 + len(self.properties) + len(self.required)

    def plain_properties(self) -> Schema:
        return {name: _one(list(schemas.values()), "allOf") for name, schemas in self.properties.items()}


class _Flattening:
    """Takes time in proportion to the schemas and entries that it merges, and stops at a maximum of both."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._schemas = _MOST_SCHEMAS
        self._entries = _MOST_ENTRIES
        self._contents: dict[int, Hashable] = {}

    def flatten(self, schema: Schema) -> _Flat:
        """The schema with `$ref`, `allOf`, `oneOf` and `anyOf` merged into it."""
        flat = _Flat()
        choices = self._collect(schema, flat)
        for word, alternatives in choices:
            if branches := self._branches(alternatives):
                self._merge_alternatives(flat, branches, word)
        return flat

    def _collect(self, schema: Mapping[str, Any], flat: _Flat) -> list[tuple[str, list[Any]]]:
        """Add what all alternatives have in common; return the alternatives."""
        branches, choices = list[Any](), list[tuple[str, list[Any]]]()
        following: Mapping[str, Any] | None = schema
        while following is not None:
            self._add(following, flat)
            choices += [(word, _list(following, word)) for word in _CHOICES if word in following]
            branches += _list(following, "allOf")
            following = self._target(following, flat)
        for branch in branches:
            if isinstance(branch, dict) and self._has_room():
                choices += self._collect(branch, flat)
        return choices

    def _target(self, schema: Mapping[str, Any], flat: _Flat) -> Mapping[str, Any] | None:
        if "$ref" not in schema:
            return None
        target = resolve_pointer(self._root, schema["$ref"])
        if isinstance(target, dict) and target is not self._root and self._has_room():
            return target
        flat.words = with_note(flat.words, ELSEWHERE)
        return None

    def _has_room(self) -> bool:
        self._schemas -= 1
        return self._schemas >= 0 and self._entries >= 0

    def _add(self, schema: Mapping[str, Any], flat: _Flat) -> None:
        properties, required = _map(schema, "properties"), _names(schema)
        self._entries -= len(properties) + len(required)
        for word, value in schema.items():
            if word not in _MERGED:
                flat.words.setdefault(word, value)
        for name, value in properties.items():
            flat.properties.setdefault(name, {}).setdefault(self._content(value), value)
        flat.required |= dict.fromkeys(required)

    def _branches(self, alternatives: list[Any]) -> list[_Flat]:
        branches = []
        for alternative in alternatives:
            if isinstance(alternative, dict) and self._has_room():
                branches.append(self.flatten(alternative))
                self._entries -= branches[-1].entries
        return branches

    def _merge_alternatives(self, flat: _Flat, branches: list[_Flat], word: str) -> None:
        values_by_name: dict[str, dict[Hashable, Any]] = {}
        for branch in branches:
            for name, schemas in branch.properties.items():
                values_by_name.setdefault(name, {}).setdefault(tuple(schemas), schemas)
        for name, values in values_by_name.items():
            if name not in flat.properties:
                each = [_one(list(schemas.values()), "allOf") for schemas in values.values()]
                flat.properties[name] = {("anyOf", *values): _one(each, "anyOf")}
        common = [name for name in branches[0].required if all(name in branch.required for branch in branches)]
        flat.required |= dict.fromkeys(common)
        if any(branch.required for branch in branches):
            flat.words = with_note(flat.words, _sentence(branches, word))

    def _content(self, value: Any) -> Hashable:
        """Equal for equal schemas."""
        place = id(value)
        if place not in self._contents:
            try:
                self._contents[place] = msgspec.json.encode(value, order="deterministic")
            except (ValueError, TypeError, RecursionError):  # not JSON
                self._contents[place] = place
        return self._contents[place]


def _one(schemas: list[Any], word: str) -> Any:
    return schemas[0] if len(schemas) == 1 else {word: schemas}


def _sentence(branches: Iterable[_Flat], word: str) -> str:
    groups = list(islice(dict.fromkeys(_group(list(branch.required)) for branch in branches), MAX_CHOICES_NAMED))
    return f"Give {'exactly' if word == 'oneOf' else 'at least'} one of: {'; or '.join(groups)}."


def _group(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMES_OF_A_CHOICE
    named = ", ".join(names[:MAX_NAMES_OF_A_CHOICE]) or "none of these"
    return f"{named} and {more} more" if more > 0 else named


def _map(schema: Mapping[str, Any], word: str) -> Schema:
    value = schema.get(word)
    return value if isinstance(value, dict) else {}


def _list(schema: Mapping[str, Any], word: str) -> list[Any]:
    value = schema.get(word)
    return value if isinstance(value, list) else []


def _names(schema: Mapping[str, Any]) -> list[str]:
    return [name for name in _list(schema, "required") if isinstance(name, str)]
