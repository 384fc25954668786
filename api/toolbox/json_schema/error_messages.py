"""Sentences for errors of JSON Schema validation, from which a model can correct its arguments."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind

from api.toolbox.json_schema.flatten import resolve_pointer
from api.toolbox.output.sanitize import one_line

MAX_ERRORS = 8
MAX_SENTENCE = 400
_SHOWN = 12
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A pattern that took too long says nothing about the arguments.
_GAVE_UP = (ValidationErrorKind.BacktrackLimitExceeded, ValidationErrorKind.RegexEngineFailure)
_CHOICES = (ValidationErrorKind.AnyOf, ValidationErrorKind.OneOfNotValid)
_NO_MORE = (["additionalProperties"], ["unevaluatedProperties"])
_UNKNOWN = (ValidationErrorKind.AdditionalProperties, ValidationErrorKind.UnevaluatedProperties)


@dataclass(frozen=True, slots=True)
class ArgumentErrorMessages:
    """Converts validation errors to sentences; the schema names the existing fields."""

    schema: Mapping[str, Any]

    def sentences(self, errors: Iterator[ValidationError]) -> list[str]:
        counted = (error for error in errors if not isinstance(error.kind, _GAVE_UP))
        sentences = [one_line(self._sentence(error), MAX_SENTENCE) for error in islice(counted, MAX_ERRORS + 1)]
        return list(
            dict.fromkeys([*sentences[:MAX_ERRORS], *(["There are more errors."] if sentences[MAX_ERRORS:] else [])])
        )

    def _sentence(self, error: ValidationError) -> str:
        where = _path(error.instance_path)
        match error.kind:
            case kind if isinstance(kind, _UNKNOWN):
                return self._unknown_fields(where, kind.unexpected, error.schema_path)
            case ValidationErrorKind.FalseSchema() if error.schema_path[-1:] in _NO_MORE:
                return self._unknown_fields(where, (), error.schema_path)
            case kind if isinstance(kind, _CHOICES):
                return self._choice(where, kind.context)
            case ValidationErrorKind.PropertyNames(inner):
                return f"{where} has a field with a wrong name. {_plain_sentence('Its name', inner)}"
            case _:
                return _plain_sentence(where, error)

    def _choice(self, where: str, context: Sequence[Sequence[ValidationError]]) -> str:
        first = dict.fromkeys(self._sentence(error[0]).rstrip(".") for error in context[:4] if error)
        return f"{where} fits none of its alternatives: {'; or: '.join(first)}."

    def _unknown_fields(self, where: str, names: Sequence[str], schema_path: Sequence[str | int]) -> str:
        existing = self._existing_fields(schema_path[:-1])
        similar = [
            candidate for name in names[:_SHOWN] for candidate in difflib.get_close_matches(name[:64], existing, n=1)
        ]
        unknown = f": {_name_list(names)}" if names else ""  # where none are allowed, the error does not name them
        suggestion = f" Did you mean {_name_list(similar)}?" if similar else ""
        return f"{where} has unknown fields{unknown}.{suggestion} It may have {_name_list(existing) or 'none'}."

    def _existing_fields(self, schema_path: Sequence[str | int]) -> list[str]:
        schema: Any = self.schema
        for step in schema_path:
            if step in ("$ref", "$dynamicRef") and isinstance(schema, dict):
                schema = resolve_pointer(self.schema, schema.get(step))
            elif isinstance(schema, dict):
                schema = schema.get(str(step))
            else:
                schema = schema[step] if isinstance(schema, list) and isinstance(step, int) else None
        properties = schema.get("properties") if isinstance(schema, dict) else None
        return list(properties) if isinstance(properties, dict) else []


def _plain_sentence(where: str, error: ValidationError) -> str:
    match error.kind:
        case ValidationErrorKind.Required(name):
            return f"{where} needs the field {_name_list([name])}, which is missing."
        case ValidationErrorKind.Enum(options):
            return f"{where} must be one of {_values(options)}; it is {_value(error.instance)}."
        case ValidationErrorKind.Constant(expected):
            return f"{where} must be {_value(expected)}; it is {_value(error.instance)}."
        case ValidationErrorKind.Type(types):
            return f"{where} must be {_types(types)}; it is {_kind(error.instance)}."
        case ValidationErrorKind.FalseSchema():
            return f"{where} must be left out."
        case kind:
            return f"{where} {_rule(kind)}; it is {_value(error.instance)}."


def _name_list(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{one_line(name, 64)}`" for name in dict.fromkeys(names[:_SHOWN]))
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


_RULES: Mapping[str, str] = {
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} fields",
    "maxProperties": "must have at most {} fields",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "pattern": "must match the pattern {}",
    "format": "must have the format {}",
    "uniqueItems": "must not hold the same item twice",
    "oneOf": "fits more than one of its alternatives and must fit exactly one",
    "contains": "lacks an item of the kind that it must contain",
    "not": "is exactly what it must not be",
}


def _rule(kind: ValidationErrorKind) -> str:
    details = list(kind.as_dict().values())
    return _RULES.get(kind.name, f"breaks the rule `{kind.name}`").format(*map(_value, details[:1]), "")


def _path(path: Sequence[str | int]) -> str:
    if not path:
        return "The arguments object"
    return f"`{''.join(map(_step, path)).removeprefix('.')}`"


def _step(step: str | int) -> str:
    if isinstance(step, str) and _PLAIN_NAME.fullmatch(step):
        return f".{step}"
    return f"[{json.dumps(step, ensure_ascii=False)}]"


def _types(types: Sequence[str]) -> str:
    return " or ".join(map(_with_article, sorted(types, key=lambda kind: kind == "null")))


def _kind(value: object) -> str:
    if value is None or isinstance(value, bool):
        return _value(value)
    if isinstance(value, str | dict | list):
        return _with_article({str: "string", dict: "object", list: "array"}[type(value)])
    return f"the number {_value(value)}"


def _with_article(kind: str) -> str:
    return kind if kind == "null" else f"{'an' if kind[0] in 'aio' else 'a'} {kind}"


def _value(value: object) -> str:
    return one_line(json.dumps(value, ensure_ascii=False, default=str), 80)


def _values(options: Sequence[object]) -> str:
    shown = ", ".join(map(_value, options[:_SHOWN]))
    return f"{shown} and {len(options) - _SHOWN} more" if len(options) > _SHOWN else shown
