"""Sentences that tell a model how to correct its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

Problem = Mapping[str, Any]

# The text for each error type of pydantic, with placeholders for the values of the error's `ctx`.
KINDS = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than_equal": "must be {ge} at least",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "less_than_equal": "must be {le} at most",
    "list_type": "must be a list",
    "literal_error": "must be one of {expected}",
    "model_type": "must be an object",
    "string_too_long": "must have {max_length} characters at most",
    "string_type": "must be a text",
    "too_long": "must have {max_length} entries at most",
}
EMPTY = frozenset({"string_too_short", "too_short"})


def error_sentence(problem: Problem, params: type[BaseModel]) -> str:
    path = ".".join(str(step) for step in problem["loc"])
    match problem["type"]:
        case "missing":
            return f"`{path}` is required."
        case "extra_forbidden":
            return _unknown(path, params if len(problem["loc"]) == 1 else None)
        case _:
            return f"`{path}`: {_message(problem)}." if path else f"{_message(problem)}."


def _unknown(path: str, params: type[BaseModel] | None) -> str:
    """An error that names the existing parameters: ignoring an unknown one would change the meaning of the call."""
    if params is None:
        return f"There is no `{path}`."
    names = [f"`{to_camel(name)}`" for name in params.model_fields]
    existing = f"there {'are' if len(names) > 1 else 'is'} {', '.join(names)}" if names else "it takes none"
    return f"There is no parameter `{path}`; {existing}."


def _message(problem: Problem) -> str:
    bounds: Mapping[str, Any] = problem.get("ctx") or {}
    if problem["type"] in EMPTY and bounds.get("min_length") == 1:
        return "must not be empty"
    text = KINDS.get(problem["type"])
    if text is None:
        return str(problem["msg"]).removeprefix("Value error, ")
    return text.format(**{name: str(value).replace("'", "`") for name, value in bounds.items()})
