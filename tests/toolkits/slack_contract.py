"""Does Slack take what was sent, by its specification of 2020 and by the types of its SDK of today?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.fakes.authorization_tenant import Seen

Json = dict[str, Any]
BESIDE = Path(__file__).parents[3] / "shared" / "contracts"
SPECIFICATION, TYPES = "slack_web_openapi_v2.trimmed.json", "slack-web-api-8.2.0.schemas.json"
NOT_THERE = "Slack's contract is not there: set PLUGBOARD_CONTRACTS to the folder that has slack/ in it"
TYPES_OF = {"conversations.list": "ListArguments", "conversations.history": "HistoryArguments"}
SINCE_2020 = {
    "chat.postMessage": {"markdown_text": "string"},
    "conversations.list": {"team_id": "string"},
    "conversations.history": {"include_all_metadata": "boolean"},
    "conversations.replies": {"include_all_metadata": "boolean"},
}
MOST_OF_A_PAGE = 999
LONGEST_MARKDOWN = 12_000


def folder() -> Path | None:
    found = Path(os.environ.get("PLUGBOARD_CONTRACTS") or BESIDE) / "slack"
    return found if found.is_dir() else None


def objections(seen: Seen) -> Iterator[str]:
    """Nothing, where the contract is not there."""
    if folder() is not None:
        method = seen.path.rpartition("/")[2]
        yield from (f"{method}: {why}" for why in _objections(method, seen))


def _objections(method: str, seen: Seen) -> Iterator[str]:
    described = _specification()["paths"].get(f"/{method}")
    if described is None:
        yield "there is no such method"
        return
    operation = described.get(seen.method.lower())
    if operation is None:
        yield f"it is not asked with {seen.method}"
        return
    is_json = seen.headers.get("content-type", "").startswith("application/json")
    if is_json and "application/json" not in operation["consumes"]:
        yield "it takes no JSON"
    known = {each["name"]: each["type"] for each in operation["parameters"]} | SINCE_2020.get(method, {})
    given = json.loads(seen.body) if is_json else {**seen.query, **seen.fields}
    required = {each["name"] for each in operation["parameters"] if each.get("required") and each["name"] != "token"}
    yield from (f"{name} is missing" for name in required - given.keys())
    for name, value in given.items():
        yield from _of_argument(known.get(name), name, value, is_json=is_json)
    yield from _of_types(method, known, given)


def _of_argument(kind: str | None, name: str, value: Any, *, is_json: bool) -> Iterator[str]:
    if kind is None or name == "token":
        yield f"it takes no {name}"
    elif name in ("ts", "thread_ts", "oldest", "latest") and not _fits("defs_ts", value):
        yield f"{name} is no timestamp: {value!r}"
    elif name == "channel" and not _fits("defs_channel", value):
        yield f"{name} is no channel's ID: {value!r}"
    elif kind == "boolean" and value not in ((True, False) if is_json else ("true", "false")):
        yield f"{name} is no boolean: {value!r}"
    elif name == "limit" and not 1 <= int(value) <= MOST_OF_A_PAGE:
        yield f"{name} is out of bounds: {value}"
    elif name == "markdown_text" and len(value) > LONGEST_MARKDOWN:
        yield f"{name} is too long"


def _of_types(method: str, known: Mapping[str, str], given: Json) -> Iterator[str]:
    if method not in TYPES_OF:
        return
    read = {"integer": int, "boolean": lambda value: value == "true"}
    typed = {name: read.get(known.get(name, ""), str)(value) for name, value in given.items()}
    for error in _arguments(TYPES_OF[method]).iter_errors(typed):
        yield error.message


@cache
def _arguments(name: str) -> jsonschema_rs.Draft7Validator:
    return validator_of(f"Conversations{name}")


@cache
def validator_of(name: str) -> jsonschema_rs.Draft7Validator:
    """For a definition of the SDK's types."""
    return jsonschema_rs.Draft7Validator({"$ref": f"#/definitions/{name}", "definitions": _read(TYPES)["definitions"]})


def _fits(name: str, value: object) -> bool:
    return jsonschema_rs.is_valid(_specification()["definitions"][name], value)


def _specification() -> Json:
    return _read(SPECIFICATION)


@cache
def _read(name: str) -> Json:
    where = folder()
    assert where is not None, NOT_THERE
    found: Json = json.loads((where / name).read_text(encoding="utf-8"))
    return found
