"""Sentences for errors of JSON Schema validation, from which a model can correct its arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind

from api.toolbox.json_schema.references import resolve_pointer
from api.toolbox.output.sanitize import one_line
from integrations import nearest_name

MAX_ERRORS = 8
MAX_SENTENCE = 400
MAX_COMPARED = 3
"""The maximum of unknown names, of all errors together, for which a similar one is looked for."""
_SHOWN = 12
_ALTERNATIVES = 4
_LEVELS_OF_ALTERNATIVES = 2
_SHOWN_NAME, _SHOWN_VALUE = 64, 80
_LOOKED_AT = 4
"""At most this many times the shown characters of a name or value are read."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A pattern that took too long says nothing about the arguments.
_GAVE_UP = (ValidationErrorKind.BacktrackLimitExceeded, ValidationErrorKind.RegexEngineFailure)
_CHOICES = (ValidationErrorKind.AnyOf, ValidationErrorKind.OneOfNotValid)
_NO_MORE = (["additionalProperties"], ["unevaluatedProperties"])
_UNKNOWN = (ValidationErrorKind.AdditionalProperties, ValidationErrorKind.UnevaluatedProperties)


@dataclass(slots=True)
class ArgumentErrorMessages:
    """Converts validation errors to sentences; the schema names the existing fields. For one arguments object."""

    schema: Mapping[str, Any]
    _to_compare: int = MAX_COMPARED

    def sentences(self, errors: Iterator[ValidationError]) -> list[str]:
        counted = (error for error in errors if not isinstance(error.kind, _GAVE_UP))
        sentences = [one_line(self._sentence(error), MAX_SENTENCE) for error in islice(counted, MAX_ERRORS + 1)]
        return list(
            dict.fromkeys([*sentences[:MAX_ERRORS], *(["There are more errors."] if sentences[MAX_ERRORS:] else [])])
        )

    def _sentence(self, error: ValidationError, level: int = 0) -> str:
        where = _path(error.instance_path)
        match error.kind:
            case kind if isinstance(kind, _UNKNOWN):
                return self._unknown_fields(where, kind.unexpected, error.schema_path)
            case ValidationErrorKind.FalseSchema() if error.schema_path[-1:] in _NO_MORE:
                return self._unknown_fields(where, (), error.schema_path)
            case kind if isinstance(kind, _CHOICES):
                return self._choice(where, kind.context, level)
            case ValidationErrorKind.PropertyNames(inner):
                return f"{where} has a field with a wrong name. {_plain_sentence('Its name', inner)}"
            case _:
                return _plain_sentence(where, error)

    def _choice(self, where: str, context: Sequence[Sequence[ValidationError]], level: int) -> str:
        if level == _LEVELS_OF_ALTERNATIVES:  # the text would not fit, and there may be any number of levels
            return f"{where} fits none of its alternatives."
        errors = [error[0] for error in context[:_ALTERNATIVES] if error]
        first = dict.fromkeys(self._sentence(error, level + 1).rstrip(".") for error in errors)
        return f"{where} fits none of its alternatives: {'; or: '.join(first)}."

    def _unknown_fields(self, where: str, names: Sequence[str], schema_path: Sequence[str | int]) -> str:
        existing = self._existing_fields(schema_path[:-1])
        similar = self._similar(names, existing)
        unknown = f": {_name_list(names)}" if names else ""  # where none are allowed, the error does not name them
        suggestion = f" Did you mean {_name_list(similar)}?" if similar else ""
        return f"{where} has unknown fields{unknown}.{suggestion} It may have {_name_list(existing) or 'none'}."

    def _similar(self, names: Sequence[str], existing: Sequence[str]) -> list[str]:
        compared = names[: self._to_compare] if existing else []
        self._to_compare -= len(compared)
        return [found for name in compared if (found := nearest_name(name, existing))]

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
    shown = ", ".join(f"`{_short(name, _SHOWN_NAME)}`" for name in dict.fromkeys(names[:_SHOWN]))
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
    return f"`{''.join(map(_step, path[:MAX_SENTENCE])).removeprefix('.')}`"


def _step(step: str | int) -> str:
    if isinstance(step, str) and _PLAIN_NAME.fullmatch(step[:MAX_SENTENCE]):
        return f".{step[:MAX_SENTENCE]}"
    return f"[{_value(step)}]"


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
    return _short("".join(islice(_ENCODER.iterencode(_beginning(value)), _SHOWN_VALUE)), _SHOWN_VALUE)


def _beginning(value: object) -> object:
    """A text that is long is cut before it is encoded."""
    return value[: _LOOKED_AT * _SHOWN_VALUE] if isinstance(value, str) else value


def _short(text: str, limit: int) -> str:
    return one_line(text[: _LOOKED_AT * limit], limit)


def _values(options: Sequence[object]) -> str:
    shown = ", ".join(map(_value, options[:_SHOWN]))
    return f"{shown} and {len(options) - _SHOWN} more" if len(options) > _SHOWN else shown
