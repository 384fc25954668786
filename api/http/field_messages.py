"""The messages for invalid fields, in our own words: what must be there instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core.core_schema import ErrorType

from api.http.models import PATTERN_MESSAGES

LONGEST_NAME = 64
NEAR = 0.6
OBJECT = "Must be a JSON object."
MESSAGES: Mapping[str, str] = {
    "missing": "This field is required.",
    "model_type": OBJECT,
    "model_attributes_type": OBJECT,
    "dict_type": OBJECT,
    "list_type": "Must be a list.",
    "too_long": "This is too long.",
    "too_short": "This is too short.",
    "string_type": "Must be text.",
    "string_unicode": "Must be text.",
    "string_too_short": "Too short: the minimum length is {min_length}.",
    "string_too_long": "Too long: the maximum length is {max_length}.",
    "string_pattern_mismatch": "Must have the form {pattern}.",
    "bool_type": "Must be true or false.",
    "int_type": "Must be a whole number.",
    "int_from_float": "Must be a whole number.",
    "int_parsing_size": "Must be a smaller number.",
    "float_type": "Must be a number.",
    "finite_number": "Must be a finite number.",
    "greater_than_equal": "Must be at least {ge}.",
    "less_than_equal": "Must be at most {le}.",
    "value_error": "{error}",
}
_QUOTED = re.compile("'([^']*)'")
_KNOWN_TO_PYDANTIC = frozenset(get_args(ErrorType))


def choice_message(value: object, choices: Iterable[str]) -> str:
    """For a value that is none of the choices, with the likeliest one."""
    known = {choice.lower(): choice for choice in choices}
    plain = value.strip().lower() if isinstance(value, str) and len(value) <= LONGEST_NAME else ""
    near = [plain] if plain in known else get_close_matches(plain, known, 1, NEAR)
    hint = "" if not near else f" Use `{known[plain]}`." if plain in known else f" Did you mean `{known[near[0]]}`?"
    return f"Must be one of {', '.join(f'`{choice}`' for choice in known.values())}.{hint}"


def message_of(model: type[BaseModel], error: Any) -> str:
    """Of one of pydantic's errors for a body of the model."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_field(model, error["loc"])
    if kind in ("enum", "literal_error"):
        return choice_message(error["input"], _QUOTED.findall(context["expected"]))
    if kind not in _KNOWN_TO_PYDANTIC:  # our own
        return str(error["msg"])
    message = PATTERN_MESSAGES.get(context.get("pattern")) or MESSAGES.get(kind)
    return message.format(**context) if message and "{" in message else message or "This value is not valid."


def _unknown_field(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    names = _fields_at(model, location[:-1])
    plain = {_plain(name): name for name in names}
    sent = str(location[-1])
    if len(sent) > LONGEST_NAME:  # no slip of a hand
        return "There is no such field."
    near = get_close_matches(_plain(sent), plain, 1, NEAR)
    hint = f" Did you mean `{plain[near[0]]}`?" if near else ""
    return f"There is no such field.{hint} Fields: {', '.join(names)}."


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


@cache
def _names(model: type[BaseModel]) -> tuple[str, ...]:
    """The names of the fields in JSON."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _fields_at(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[str, ...]:
    """Of the object at this place in a body."""
    for step in location:
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        model = next(iter(_models(fields[str(step)].annotation)), model) if str(step) in fields else model
    return _names(model)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
