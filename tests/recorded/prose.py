"""Prose: the texts for people and models, which may be reworded. All other texts are compared to the letter.

This module alone defines them. A text is replaced by TEXT; an empty one stays empty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

TEXT = "<text>"
PROBLEM = ("title", "detail", "errors.*.message")
"""In `application/problem+json`."""
FIELDS = {
    "checkServer": ("detail",),
    "listServices": ("*.description", "*.tools.*.description", "*.configFields.*.description"),
    "listAgentTools": ("unavailable.*.detail",),
    "listServerTools": ("unavailable.*.detail",),
}
"""By operation, the paths of prose in the body of a success; `*` stands for every item."""
TOOL_LISTS = ("listAgentTools", "listServerTools")
"""Here every `description` in `tools` is prose, those of parameters included."""
RESULT = ("text", "content.*.text")
"""In the response of `callTool`, if the call failed or the tool is a service's. Other results are the upstream's."""
CONTRACT = ("description", "summary", "title", "detail", "message")
"""Names whose texts are prose anywhere in the OpenAPI contract."""


def without_prose(operation: str, body: Any, *, is_service: bool) -> Any:
    if operation in TOOL_LISTS:
        body = {**body, "tools": _everywhere(("description",), body["tools"])}
    if operation == "callTool" and (is_service or body["isError"]):
        body = _at_all(RESULT, body)
    return _at_all(FIELDS.get(operation, ()), body)


def problem_without_prose(body: Any) -> Any:
    return _at_all(PROBLEM, body)


def contract_without_prose(contract: Any) -> Any:
    return _everywhere(CONTRACT, contract)


def reworded(text: Any) -> Any:
    return TEXT if text and isinstance(text, str) else text


def _at_all(paths: tuple[str, ...], value: Any) -> Any:
    for path in paths:
        value = _at(path, value)
    return value


def _at(path: str, value: Any) -> Any:
    name, _, rest = path.partition(".")
    change: Callable[[Any], Any] = partial(_at, rest) if rest else reworded
    if name == "*":
        return [change(item) for item in value] if isinstance(value, list) else value
    return {**value, name: change(value[name])} if isinstance(value, dict) and name in value else value


def _everywhere(names: tuple[str, ...], value: Any) -> Any:
    match value:
        case list():
            return [_everywhere(names, item) for item in value]
        case dict():
            return {
                name: reworded(item) if name in names and isinstance(item, str) else _everywhere(names, item)
                for name, item in value.items()
            }
        case _:
            return value
