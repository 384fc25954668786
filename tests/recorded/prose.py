"""Prose: the texts for people and models, which may be reworded. All other texts are compared to the letter.

This module alone defines them. A text is replaced by TEXT; an empty one stays empty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Change = Callable[[Any], Any]
TEXT = "<text>"
PROBLEM = ("title", "detail", "errors.*.message")
"""In `application/problem+json`."""
FIELDS = {
    "checkServer": ("detail",),
    "getConnection": ("problem",),
    "updateAgent": ("warnings.*",),
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
        body = at_all(RESULT, body)
    return at_all(FIELDS.get(operation, ()), body)


def problem_without_prose(body: Any) -> Any:
    return at_all(PROBLEM, body)


def contract_without_prose(contract: Any) -> Any:
    return _everywhere(CONTRACT, contract)


def reworded(text: Any) -> Any:
    return TEXT if text and isinstance(text, str) else text


def at_all(paths: tuple[str, ...], value: Any, change: Change = reworded) -> Any:
    """A JSON value with what is at the paths changed; `*` stands for every item."""
    for path in paths:
        value = _at(path, value, change)
    return value


def _at(path: str, value: Any, change: Change) -> Any:
    name, _, rest = path.partition(".")
    deeper: Change = partial(_at, rest, change=change) if rest else change
    if name == "*":
        return [deeper(item) for item in value] if isinstance(value, list) else value
    return {**value, name: deeper(value[name])} if isinstance(value, dict) and name in value else value


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
