"""A schema with alternatives at the top, flattened into one plain object.

OpenAI's API refuses a tool with `oneOf`, `anyOf`, `allOf`, `enum`, `const` or `not` at the top, Anthropic's one with
the first three, and each then refuses the whole request. So the alternatives are merged: every property of every
alternative is allowed, properties that all require are required, and a sentence says which belong together. That
permits more than the original, against which arguments are still validated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Schema = dict[str, Any]
_CHOICES = ("oneOf", "anyOf")
_REFUSED = ("enum", "const", "not")
_MOST_SCHEMAS = 500  # references can turn a few into any number
ELSEWHERE = "(Described elsewhere: any value may be given.)"
MAX_CHOICES_NAMED = 8
_LONGEST_REFERENCE = 1000


def flatten_top_level(schema: Mapping[str, Any]) -> Schema:
    """The schema with `type: object` and none of the refused keywords at its top."""
    merged = _flatten(dict(schema), schema, iter(range(_MOST_SCHEMAS)))
    properties, required = merged.get("properties"), merged.get("required")
    return {
        **{word: value for word, value in merged.items() if word not in (*_REFUSED, "required")},
        "type": "object",
        "properties": properties if isinstance(properties, dict) else {},
        **({"required": required} if isinstance(required, list) and required else {}),
    }


def resolve_pointer(root: Mapping[str, Any], reference: object) -> Any | None:
    """The target of a reference within the document. None for one to another document, to nothing, or to an anchor."""
    if (
        not isinstance(reference, str)
        or not (reference == "#" or reference.startswith("#/"))
        or len(reference) > _LONGEST_REFERENCE
    ):
        return None
    target: Any = root
    for part in reference.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and name in target:
            target = target[name]
        elif isinstance(target, list) and name.isdecimal() and int(name) < len(target):
            target = target[int(name)]
        else:
            return None
    return target


def with_note(schema: Schema, note: str) -> Schema:
    description = schema.get("description")
    return {**schema, "description": f"{description}\n{note}" if isinstance(description, str) and description else note}


def _flatten(schema: Schema, root: Mapping[str, Any], budget: Iterator[int]) -> Schema:
    """The schema with `$ref`, `allOf`, `oneOf` and `anyOf` merged into it."""
    schema = _with_target(schema, root, budget)
    for branch in _branches(schema.pop("allOf", None), root, budget):
        schema = _merge(schema, branch)
    for word in _CHOICES:
        if branches := _branches(schema.pop(word, None), root, budget):
            schema = _merge_alternatives(schema, branches, word)
    return schema


def _with_target(schema: Schema, root: Mapping[str, Any], budget: Iterator[int]) -> Schema:
    while "$ref" in schema:
        rest = {word: value for word, value in schema.items() if word != "$ref"}
        target = resolve_pointer(root, schema["$ref"])
        followed = isinstance(target, dict) and target is not root and next(budget, None) is not None
        schema = _merge(rest, target) if isinstance(target, dict) and followed else with_note(rest, ELSEWHERE)
    return dict(schema)


def _branches(alternatives: object, root: Mapping[str, Any], budget: Iterator[int]) -> list[Schema]:
    schemas = (
        [dict(alternative) for alternative in alternatives if isinstance(alternative, dict)]
        if isinstance(alternatives, list)
        else []
    )
    return [_flatten(alternative, root, budget) for alternative in schemas if next(budget, None) is not None]


def _merge(first: Schema, second: Schema) -> Schema:
    """The conjunction of two schemas. If both have the same keyword, that of the first is kept."""
    properties = dict(_map(first, "properties"))
    for name, value in _map(second, "properties").items():
        properties[name] = {"allOf": [properties[name], value]} if properties.get(name, value) != value else value
    required = list(dict.fromkeys([*_names(first), *_names(second)]))
    every = [*_list(first, "allOf"), *_list(second, "allOf")]
    both = {**second, **first, "properties": properties, "required": required}
    return both | {"allOf": every} if every else both


def _merge_alternatives(schema: Schema, branches: list[Schema], word: str) -> Schema:
    properties = dict(_map(schema, "properties"))
    values_by_name: dict[str, list[Any]] = {}
    for branch in branches:
        for name, value in _map(branch, "properties").items():
            if value not in values_by_name.setdefault(name, []):
                values_by_name[name].append(value)
    for name, values in values_by_name.items():
        properties.setdefault(name, values[0] if len(values) == 1 else {"anyOf": values})
    common = [name for name in _names(branches[0]) if all(name in _names(branch) for branch in branches)]
    required = list(dict.fromkeys([*_names(schema), *common]))
    merged = {**schema, "properties": properties, "required": required}
    return with_note(merged, _sentence(branches, word)) if any(map(_names, branches)) else merged


def _sentence(branches: Iterable[Schema], word: str) -> str:
    groups = list(dict.fromkeys(", ".join(_names(branch)) or "none of these" for branch in branches))[
        :MAX_CHOICES_NAMED
    ]
    return f"Give {'exactly' if word == 'oneOf' else 'at least'} one of: {'; or '.join(groups)}."


def _map(schema: Mapping[str, Any], word: str) -> Schema:
    value = schema.get(word)
    return value if isinstance(value, dict) else {}


def _list(schema: Mapping[str, Any], word: str) -> list[Any]:
    value = schema.get(word)
    return value if isinstance(value, list) else []


def _names(schema: Mapping[str, Any]) -> list[str]:
    return [name for name in _list(schema, "required") if isinstance(name, str)]
