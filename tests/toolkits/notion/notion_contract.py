"""Checks requests against Notion's OpenAPI document, the types of its SDK, and its documented limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from demo.oauth_provider.tenant import RecordedRequest
from tests.toolkits.contract import Contract, Json

CONTRACT = Contract("Notion")
SPECIFICATION, TYPES = "notion-openapi.json", "notion-sdk-5.26.0.schemas.json"
VERSION = "2025-09-03"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TYPE_OF: Mapping[tuple[str, str], str] = {
    ("POST", "/v1/search"): "SearchParameters",
    ("POST", "/v1/pages"): "CreatePageParameters",
    ("PATCH", "/v1/pages/{page_id}"): "UpdatePageParameters",
    ("PATCH", "/v1/blocks/{block_id}/children"): "AppendBlockChildrenParameters",
    ("POST", "/v1/data_sources/{data_source_id}/query"): "QueryDataSourceParameters",
}
MAX_ARRAY, MAX_TEXT, MAX_BYTES, MAX_PAGE = 100, 2000, 500_000, 100


@CONTRACT.validator
def objections(path: str, request: RecordedRequest) -> Iterator[str]:
    template, ids = _template(path, request.method)
    if template is None:
        yield "there is no such request"
        return
    yield from (f"{name} is no uuid: {value}" for name, value in ids.items() if not _is_id(name, value))
    if request.headers.get("notion-version") != VERSION:
        yield f"it is of version {request.headers.get('notion-version')}"
    known = {parameter["name"] for parameter in _parameters(template, request.method) if parameter["in"] == "query"}
    yield from (f"it takes no {name}" for name in request.query.keys() - known)
    if "page_size" in request.query and not 1 <= int(request.query["page_size"]) <= MAX_PAGE:
        yield "page_size is out of bounds"
    if kind := TYPE_OF.get((request.method, template)):
        yield from _of_body(kind, ids, request)
    elif request.body:
        yield "it takes no body"


def _is_id(name: str, value: str) -> bool:
    return name == "property_id" or bool(UUID.fullmatch(value))


def _template(path: str, method: str) -> tuple[str | None, dict[str, str]]:
    """The more exact first: `/v1/users/me` is not the user `me`."""
    for template in sorted(CONTRACT.read(SPECIFICATION)["paths"], key=lambda value: value.count("{")):
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template)
        match = re.fullmatch(pattern, path)
        if match and method.lower() in CONTRACT.read(SPECIFICATION)["paths"][template]:
            return template, match.groupdict()
    return None, {}


def _parameters(template: str, method: str) -> Iterator[Json]:
    shared = CONTRACT.read(SPECIFICATION)["components"]["parameters"]
    for item in CONTRACT.read(SPECIFICATION)["paths"][template][method.lower()].get("parameters", []):
        yield shared[item["$ref"].rpartition("/")[2]] if "$ref" in item else item


def _of_body(kind: str, ids: Json, request: RecordedRequest) -> Iterator[str]:
    if request.headers.get("content-type") != "application/json":
        yield "its body is not told to be JSON"
    if len(request.body.encode()) > MAX_BYTES:
        yield "it is larger than 500 kB"
    body = json.loads(request.body)
    for error in validator_of(kind).iter_errors({**body, **ids}):  # the SDK takes what is in the path with the rest
        yield f"{'/'.join(map(str, error.instance_path))}: {error.message[:300]}"
    yield from _beyond(body, "body")


def _beyond(value: Any, where: str) -> Iterator[str]:
    """What no type says: how much there may be of something."""
    if isinstance(value, list):
        if len(value) > MAX_ARRAY:
            yield f"{where} has {len(value)} entries"
        for at, item in enumerate(value):
            yield from _beyond(item, f"{where}[{at}]")
    if isinstance(value, dict):
        if "content" in value and len(value["content"]) > MAX_TEXT:
            yield f"{where}.content has {len(value['content'])} characters"
        for name, item in value.items():
            yield from _beyond(item, f"{where}.{name}")


@cache
def validator_of(name: str) -> jsonschema_rs.Draft7Validator:
    """Also for what Notion answers: the fake is held to it too."""
    schema = {"$ref": f"#/definitions/{name}", "definitions": CONTRACT.read(TYPES)["definitions"]}
    return jsonschema_rs.Draft7Validator(schema)
