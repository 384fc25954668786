"""Checks requests against Slack's specification of 2020 and the types of its current SDK."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from demo.oauth_provider.tenant import RecordedRequest
from tests.toolkits.contract import Contract, Json

CONTRACT = Contract("Slack")
NOT_THERE, folder = CONTRACT.missing, CONTRACT.folder
SPECIFICATION, TYPES = "slack_web_openapi_v2.trimmed.json", "slack-web-api-8.2.0.schemas.json"
TYPES_OF = {"conversations.list": "ListArguments", "conversations.history": "HistoryArguments"}
SINCE_2020 = {
    "chat.postMessage": {"markdown_text": "string"},
    "conversations.list": {"team_id": "string"},
    "conversations.history": {"include_all_metadata": "boolean"},
    "conversations.replies": {"include_all_metadata": "boolean"},
}
MOST_OF_A_PAGE = 999
LONGEST_MARKDOWN = 12_000


@CONTRACT.validator
def objections(path: str, request: RecordedRequest) -> Iterator[str]:
    method = path.rpartition("/")[2]
    described = _specification()["paths"].get(f"/{method}")
    if described is None:
        yield "there is no such method"
        return
    operation = described.get(request.method.lower())
    if operation is None:
        yield f"it is not asked with {request.method}"
        return
    is_json = request.headers.get("content-type", "").startswith("application/json")
    if is_json and "application/json" not in operation["consumes"]:
        yield "it takes no JSON"
    known = {parameter["name"]: parameter["type"] for parameter in operation["parameters"]} | SINCE_2020.get(method, {})
    values = json.loads(request.body) if is_json else {**request.query, **request.fields}
    required = {
        parameter["name"]
        for parameter in operation["parameters"]
        if parameter.get("required") and parameter["name"] != "token"
    }
    yield from (f"{name} is missing" for name in required - values.keys())
    for name, value in values.items():
        yield from _of_argument(known.get(name), name, value, is_json=is_json)
    yield from _of_types(method, known, values)


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


def _of_types(method: str, known: Mapping[str, str], arguments: Json) -> Iterator[str]:
    if method not in TYPES_OF:
        return
    read: dict[str, Callable[[Any], object]] = {"integer": int, "boolean": lambda value: value == "true"}
    typed = {name: read.get(known.get(name, ""), str)(value) for name, value in arguments.items()}
    for error in _arguments(TYPES_OF[method]).iter_errors(typed):
        yield error.message


@cache
def _arguments(name: str) -> jsonschema_rs.Draft7Validator:
    return validator_of(f"Conversations{name}")


@cache
def validator_of(name: str) -> jsonschema_rs.Draft7Validator:
    """For a definition of the SDK's types."""
    return jsonschema_rs.Draft7Validator(
        {"$ref": f"#/definitions/{name}", "definitions": CONTRACT.read(TYPES)["definitions"]}
    )


def _fits(name: str, value: object) -> bool:
    return jsonschema_rs.is_valid(_specification()["definitions"][name], value)


def _specification() -> Json:
    return CONTRACT.read(SPECIFICATION)
