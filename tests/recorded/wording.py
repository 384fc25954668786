"""What else changes with wording alone: names of definitions in schemas, and code marks within texts of a page.

Pydantic names a definition after its class, and nothing but the schema itself refers to it.
"""

from __future__ import annotations

from typing import Any

from tests.recorded.prose import TEXT

DEFINITIONS = "#/$defs/"
MARKS = ("<code>", "</code>", TEXT)


def without_wording(value: Any) -> Any:
    match value:
        case {"$defs": dict()}:
            return _with_numbered_definitions(value)
        case {"<body>": int()}:
            return {part: number for part, number in value.items() if part not in MARKS}
        case dict():
            return {name: without_wording(item) for name, item in value.items()}
        case list():
            return [without_wording(item) for item in value]
        case _:
            return value


def _with_numbered_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Definitions are numbered in the order in which the schema refers to them."""
    numbers: dict[str, str] = {}
    numbered = _numbered({name: item for name, item in schema.items() if name != "$defs"}, numbers)
    definitions: dict[str, Any] = {}
    while len(definitions) < len(numbers):
        name = list(numbers)[len(definitions)]
        definitions[numbers[name]] = _numbered(schema["$defs"].get(name), numbers)
    unused = [_numbered(item, numbers) for name, item in schema["$defs"].items() if name not in numbers]
    return {**numbered, "$defs": definitions, "unused": unused}


def _numbered(value: Any, numbers: dict[str, str]) -> Any:
    match value:
        case str() if value.startswith(DEFINITIONS):
            return DEFINITIONS + numbers.setdefault(value.removeprefix(DEFINITIONS), str(len(numbers) + 1))
        case dict():
            return {name: _numbered(value[name], numbers) for name in sorted(value)}
        case list():
            return [_numbered(item, numbers) for item in value]
        case _:
            return value
