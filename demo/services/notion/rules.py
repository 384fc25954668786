"""Notion's validation rules and error responses."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from demo.oauth_provider.http import Response, json_response
from demo.services.notion.store import ADA, NOW, READ_ONLY, Json, rich, user

MAX_ARRAY, MAX_TEXT, MAX_ELEMENTS, MAX_DEPTH, MAX_BYTES = 100, 2000, 1000, 2, 500_000
DAY = re.compile(r"\d{4}-\d{2}-\d{2}(T|$)")
URL = re.compile(r"(https?://[^\s]+|mailto:[^\s]+)")
LANGUAGES = {"plain text", "python", "javascript", "typescript", "shell", "json", "yaml", "sql", "markdown", "bash"}
TEXT_BLOCKS = {
    *("paragraph", "heading_1", "heading_2", "heading_3", "bulleted_list_item", "numbered_list_item", "to_do"),
    *("toggle", "quote", "callout", "code"),
}
OTHER_BLOCKS = {
    "divider",
    "equation",
    "image",
    "table",
    "table_row",
    "bookmark",
    "embed",
    "file",
    "column_list",
    "column",
}
BLOCK_FIELDS: Mapping[str, set[str]] = {
    "to_do": {"checked"},
    "code": {"language", "caption"},
    "callout": {"icon"},
    "image": {"type", "external", "caption"},
    "table": {"table_width", "has_column_header", "has_row_header"},
    "table_row": {"cells"},
    "equation": {"expression"},
    "bookmark": {"url", "caption"},
    "embed": {"url", "caption"},
}


class NotionError(Exception):
    def __init__(self, response: Response) -> None:
        super().__init__(response.body)
        self.response = response


def error(status: int, code: str, message: str, more: Json | None = None, **headers: str) -> Response:
    body = {"object": "error", "status": status, "code": code, "message": message}
    extra = {"additional_data": more} if more else {}
    return json_response({**body, **extra, "request_id": "5f1c9a1e-0000-4000-8000-000000000000"}, status, **headers)


def invalid(message: str) -> NotionError:
    return NotionError(error(400, "validation_error", message))


def require(holds: object, message: str) -> None:
    if not holds:
        raise invalid(message)


def check_keys(fields: Mapping[str, Any], allowed: set[str], where: str = "body") -> None:
    for name in fields:
        require(name in allowed, f"{where} failed validation: {where}.{name} should be not present, instead was `…`.")


def check_id(of: object, where: str) -> None:
    try:
        uuid.UUID(str(of))
    except ValueError:
        raise invalid(f"{where} failed validation: {where} should be a valid uuid, instead was `{of}`.") from None


def is_date(value: object) -> bool:
    """Whether a value is an existing date, with or without a time."""
    if not isinstance(value, str) or not DAY.match(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def check_array(value: object, where: str) -> list[Any]:
    require(
        isinstance(value, list), f"body failed validation: {where} should be an array, instead was `{value!r:.40}`."
    )
    assert isinstance(value, list)
    most = f"body failed validation: {where}.length should be ≤ `{MAX_ARRAY}`, instead was `{len(value)}`."
    require(len(value) <= MAX_ARRAY, most)
    return value


def check_rich(value: object, where: str) -> None:
    for at, item in enumerate(check_array(value, where)):
        check_keys(item, {"type", "text", "annotations", "mention", "equation"}, f"{where}[{at}]")
        text = item.get("text") or {}
        content, link = str(text.get("content", "")), (text.get("link") or {}).get("url")
        length = f"{where}[{at}].text.content.length should be ≤ `{MAX_TEXT}`, instead was `{len(content)}`."
        require(len(content) <= MAX_TEXT, f"body failed validation: body.{length}")
        require(link is None or URL.fullmatch(link), "Invalid URL for link.")


def check_blocks(value: object, where: str = "body.children", depth: int = 0) -> int:
    """Checks blocks and returns their number."""
    require(depth <= MAX_DEPTH, f"body failed validation: {where} should be not present, instead was `[…]`.")
    count = 0
    for at, item in enumerate(check_array(value, where)):
        count += 1 + _check_block(item, f"{where}[{at}]", depth)
    require(depth or count <= MAX_ELEMENTS, f"{where} has {count} block elements, 1000 are the most.")
    return count


def _check_block(block: Any, where: str, depth: int) -> int:
    kinds = [name for name in block if name not in ("object", "type")]
    kind = kinds[0] if len(kinds) == 1 else ""
    require(kind in TEXT_BLOCKS | OTHER_BLOCKS, f"body failed validation: {where}.{kind or 'type'} should be defined.")
    inside = block[kind]
    usual = {"rich_text", "color"} if kind in TEXT_BLOCKS else set()
    check_keys(inside, usual | BLOCK_FIELDS.get(kind, set()) | {"children"}, f"{where}.{kind}")
    if kind in TEXT_BLOCKS:
        require("rich_text" in inside, f"body failed validation: {where}.{kind}.rich_text should be defined.")
        check_rich(inside["rich_text"], f"{where}.{kind}.rich_text")
    if kind == "code":
        named = f"{where}.code.language should be a known language, instead was `{inside.get('language')}`."
        require(inside.get("language") in LANGUAGES, f"body failed validation: {named}")
    if kind == "table":
        _check_table(inside, where)
    children = inside.get("children")
    return check_blocks(children, f"{where}.{kind}.children", depth + 1) if children is not None else 0


def _check_table(inside: Json, where: str) -> None:
    for row in inside.get("children") or []:
        width = len(row["table_row"]["cells"])
        require(
            width == inside.get("table_width"), f"{where}: Number of cells in table row must match the table width."
        )


def stored_values(given: object, properties: Mapping[str, Json]) -> Json:
    """Converts the values of a request to stored values and checks them against the properties."""
    require(isinstance(given, dict), "body failed validation: body.properties should be an object.")
    assert isinstance(given, dict)
    created: Json = {}
    for name, value in given.items():
        known = properties.get(name)
        require(known, f"{name} is not a property that exists.")
        assert known
        kind = known["type"]
        require(kind not in READ_ONLY, f"{name} cannot be written.")
        require(isinstance(value, dict) and kind in value, f"{name} is expected to be {kind}.")
        created[name] = {"id": known["id"], "type": kind, kind: _stored_value(name, kind, value[kind], known)}
    return created


def _stored_value(name: str, kind: str, value: Any, known: Json) -> Any:
    where = f"body.properties.{name}"
    if kind in ("title", "rich_text"):
        check_rich(value, f"{where}.{kind}")
        return rich(value)
    if kind in ("multi_select", "people", "relation"):
        return [_stored_item(name, kind, item, known) for item in check_array(value, where)]
    if value is None:
        return None
    match kind:
        case "status" | "select":
            return _option(name, kind, value, known)
        case "number":
            require(isinstance(value, int | float), f"{name} is expected to be number.")
        case "date":
            for at in ("start", "end"):
                is_fine = is_date(value.get(at)) or (at == "end" and value.get(at) is None)
                require(is_fine, f"body failed validation: {where}.date.{at} should be a valid ISO 8601 date string.")
            return {"start": value["start"], "end": value.get("end"), "time_zone": None}
    return value


def _stored_item(name: str, kind: str, value: Json, known: Json) -> Json:
    if kind == "multi_select":
        return _option(name, kind, value, known)
    check_id(value.get("id"), f"body.properties.{name}.{kind}.id")
    return user(value["id"]) if kind == "people" else value


def _option(name: str, kind: str, value: Json, known: Json) -> Json:
    options = {item["name"]: item for item in known[kind].get("options", [])} if kind in known else {}
    said_name = value.get("name", "")
    require("," not in said_name, f"Invalid {kind} option. Commas are not allowed.")
    is_there = kind != "status" or not options or said_name in options
    require(is_there, f'Invalid status option. Status option "{said_name}" does not exist" for property {name}.')
    chosen = options.get(said_name, {"id": f"new-{said_name}", "name": said_name, "color": "default"})
    return {name: item for name, item in chosen.items() if name != "description"}


def empty_values(properties: Mapping[str, Json]) -> Json:
    """The values of a new page."""
    empty: Json = {"multi_select": [], "people": [], "relation": [], "rich_text": [], "title": [], "files": []}
    reckoned: Json = {
        **dict.fromkeys(("created_time", "last_edited_time"), NOW),
        **dict.fromkeys(("created_by", "last_edited_by"), user(ADA)),
        "checkbox": False,
        "unique_id": {"prefix": "TASK", "number": 99},
        "formula": {"type": "string", "string": ""},
    }
    values = empty | reckoned
    return {
        name: {"id": item["id"], "type": item["type"], item["type"]: values.get(item["type"])}
        for name, item in properties.items()
    }
