"""Normalisation of schemas for strict clients: the keywords that are kept, and replacements for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec

from api.kit.redaction import NO_SECRETS
from api.toolbox.json_schema.compilation import are_ways_few
from api.toolbox.json_schema.flatten import ELSEWHERE, Schema, flatten_top_level, with_note
from api.toolbox.json_schema.patterns import ANY_VALID, are_too_many, judge, patterns_in
from api.toolbox.json_schema.references import resolve_pointer
from api.toolbox.output.json_size import JsonSize, measure
from api.toolbox.output.sanitize import clean, clean_json

MAX_BYTES = 64_000  # so that a list of 400 tools stays usable
_MAX_SIZE = JsonSize(100, 20_000)
_DESCRIBED_SIZE = JsonSize(100, 5_000)
"""Of a schema that is shown in full: a larger one would not fit, and reading it takes long."""
_TOO_LARGE = "(Too large to be described in full.)"
_WRONG = "(The description of the arguments could not be read.)"
MAX_DEPTH = 32
TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
TOO_DEEP = "(Nested too deep to be described: any value may be given.)"

# Some clients fetch the URLs of these keywords; draft and vocabulary are fixed here.
_DROPPED = frozenset({"$schema", "$id", "$vocabulary", "$comment", "$recursiveRef", "$recursiveAnchor"})
_REFERENCES = ("$ref", "$dynamicRef")
# What they name has to be sent or found as it is. Of all other words the text is only read.
_VERBATIM = frozenset({"const", "dependentRequired", "$anchor", "$dynamicAnchor", *_REFERENCES})
_SCHEMA = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties", "contentSchema"}
)
_SCHEMAS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SCHEMA_MAPS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_COUNTS = frozenset({"maxContains", "maxItems", "maxLength", "maxProperties"} | {"minContains", "minItems"})
_NUMBERS = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"})
_TEXTS = frozenset({"title", "description", "format"})
_FLAGS = frozenset({"deprecated", "readOnly", "writeOnly", "uniqueItems"})


def normalise(schema: object) -> Schema:
    """A schema that strict clients accept: of an object, without remote references or refused keywords, and bounded."""
    if not isinstance(schema, dict) or not schema:
        return _empty()
    size = measure(schema, _MAX_SIZE)
    if size is None or are_too_many(patterns := patterns_in(schema)):
        return with_note(_empty(), _TOO_LARGE)
    flat = flatten_top_level(schema)
    if size.values > _DESCRIBED_SIZE.values or measure(flat, _DESCRIBED_SIZE) is None:
        return _outline(flat)
    normal = _normalise(flat, _Document(flat, judge(patterns).shown))
    if not isinstance(normal, dict) or not _is_json(normal):
        return with_note(_empty(), _WRONG)
    if _size(normal) > MAX_BYTES or not are_ways_few(normal):
        return _outline(normal)
    return normal if _compiles(normal) else with_note(_empty(), _WRONG)


class _Document(NamedTuple):
    root: Mapping[str, Any]
    patterns: frozenset[str]
    """That may be shown."""


def _empty() -> Schema:
    return {"type": "object", "properties": {}}


def _is_json(schema: Schema) -> bool:
    try:
        msgspec.json.encode(schema)
    except (ValueError, TypeError):  # UnicodeEncodeError is a ValueError
        return False
    return True


def _compiles(schema: Schema) -> bool:
    """Without a request."""
    try:
        jsonschema_rs.Draft202012Validator(schema, offline=True, pattern_options=ANY_VALID)
    except ValueError:  # ValidationError is one
        return False
    return True


def _size(schema: Schema) -> int:
    return len(msgspec.json.encode(schema))


def _outline(schema: Schema) -> Schema:
    """The names and types of the top level, if they fit."""
    kept = {name: _outline_of_property(value) for name, value in schema["properties"].items()}
    outline = with_note(_empty() | {"properties": kept, "required": schema.get("required", [])}, _TOO_LARGE)
    return outline if _is_json(outline) and _size(outline) <= MAX_BYTES else with_note(_empty(), _TOO_LARGE)


def _outline_of_property(schema: object) -> Schema:
    kind = _type(schema.get("type")) if isinstance(schema, dict) else None
    return {"type": kind} if kind not in (None, "array") else {}


def _normalise(value: object, document: _Document, depth: int = 0) -> Schema | bool:
    """A schema within a schema: valid in 2020-12, with references within the document, and not too deep."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, dict):
        return {}
    if depth > MAX_DEPTH:
        return {"description": TOO_DEEP}
    value = _to_current_draft(value)
    lost = [word for word in _REFERENCES if word in value and resolve_pointer(document.root, value[word]) is None]
    kept: Schema = {}
    for word, item in value.items():
        if word in _DROPPED or word in lost or clean(word) != word:
            continue
        if word in _VERBATIM:
            kept[word] = item
        elif word not in _KNOWN:
            kept[word] = clean_json(item, NO_SECRETS)
        elif (fit := _fitting(word, item, document, depth)) is not None:
            kept[word] = fit
    kept = with_note(kept, ELSEWHERE) if lost else kept
    return kept | {"items": {}} if kept.get("type") == "array" and "items" not in kept else kept


def _to_current_draft(schema: Schema) -> Schema:
    """Keywords of older drafts replaced by those of 2020-12, which some clients require."""
    updated = dict(schema)
    if isinstance(updated.get("items"), list):
        updated["prefixItems"] = updated.pop("items")
        updated["items"] = updated.pop("additionalItems", {})
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if updated.get(exclusive) is True and bound in updated:
            updated[exclusive] = updated.pop(bound)
    return updated


def _fitting(word: str, value: object, document: _Document, depth: int) -> object | None:
    """The value as this keyword allows it; None if it does not."""
    if word in _SCHEMA:
        return _normalise(value, document, depth + 1) if isinstance(value, dict | bool) else None
    if word in _SCHEMAS:
        return [_normalise(item, document, depth + 1) for item in value] or None if isinstance(value, list) else None
    if word in _SCHEMA_MAPS:
        return _schema_map(_shown(word, value, document), document, depth) if isinstance(value, dict) else None
    if word == "pattern":
        return value if isinstance(value, str) and value in document.patterns else None
    return _CHECKS[word](value)


def _schema_map(value: Mapping[str, Any], document: _Document, depth: int) -> Schema:
    return {name: _normalise(item, document, depth + 1) for name, item in value.items()}


def _shown(word: str, schemas: Mapping[str, Any], document: _Document) -> Mapping[str, Any]:
    if word != "patternProperties":
        return schemas
    return {pattern: schema for pattern, schema in schemas.items() if pattern in document.patterns}


def _type(value: object) -> object | None:
    if isinstance(value, list):
        types = list(dict.fromkeys(item for item in value if isinstance(item, str) and item in TYPES))
        return types[0] if len(types) == 1 else types or None
    return value if isinstance(value, str) and value in TYPES else None


def _text(value: object) -> str | None:
    return clean(value) if isinstance(value, str) else None


def _count(value: object) -> object | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _number(value: object) -> object | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _positive(value: object) -> object | None:
    number = _number(value)
    return number if isinstance(number, int | float) and number > 0 else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _name_list(value: object) -> list[str] | None:
    """The names of a list; None for `required: true`, a property's keyword in old drafts."""
    return list(dict.fromkeys(item for item in value if isinstance(item, str))) if isinstance(value, list) else None


def _values(value: object) -> list[object] | None:
    return value or None if isinstance(value, list) else None


def _examples(value: object) -> list[object] | None:
    return clean_json(value, NO_SECRETS) or None if isinstance(value, list) else None


_CHECKS: Mapping[str, Callable[[object], object | None]] = {
    "type": _type,
    "required": _name_list,
    "enum": _values,
    "examples": _examples,
    "multipleOf": _positive,
    "minLength": _count,
    "minProperties": _count,
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(_NUMBERS, _number),
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_FLAGS, _flag),
}
_KNOWN = _SCHEMA | _SCHEMAS | _SCHEMA_MAPS | _CHECKS.keys() | {"pattern"}
