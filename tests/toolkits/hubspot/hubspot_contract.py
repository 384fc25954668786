"""A check of requests against HubSpot's API; facts of its specification, which is not free, are restated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from demo.oauth_provider.tenant import RecordedRequest
from tests.toolkits.contract import Contract, Json

CONTRACT = Contract("HubSpot")
BESIDES = re.compile(r"/account-info/{version}/details|/crm/(properties/{version}/\w+|pipelines/{version}/deals)")
"""Paths that are read without parameters, because the facts do not mention any."""
LONGEST_QUERY, MOST_GROUPS, MOST_FILTERS = 3000, 5, 6


@CONTRACT.validator
def objections(path: str, request: RecordedRequest) -> Iterator[str]:
    template = _template(path)
    operation = _operations().get((request.method, template or ""))
    if template is None or (operation is None and not (request.method == "GET" and BESIDES.fullmatch(template))):
        yield "there is no such operation"
    elif "body" in (operation or {}):
        yield from _of_search(operation or {}, request)
    else:
        yield from _of_query((operation or {}).get("query", {}), request)


def _template(path: str) -> str | None:
    """With places for what differs, as the facts have it; None for a version that HubSpot does not have."""
    dated = next((version for version in _versions() if f"/{version}" in path), None)
    if dated is None:
        return None
    return re.sub(r"(?<=/)([0-9]+|[^/]*%40[^/]*|[^/]*@[^/]*)$", "{id}", path.replace(dated, "{version}", 1))


def _of_query(known: Mapping[str, Any] | list[str], request: RecordedRequest) -> Iterator[str]:
    if request.body:
        yield "it takes no body"
    for name, value in request.query.items():
        if name not in known:
            yield f"it takes no {name}"
        elif name == "limit" and isinstance(known, Mapping):
            yield from _of_number(name, value, known["limit"]["max"])
        elif name == "archived" and value not in ("true", "false"):
            yield f"archived is no boolean: {value}"
        elif name == "idProperty" and "owners" in request.path and value not in ("id", "userId"):
            yield f"owners have no {value}"
        elif not value:
            yield f"{name} is empty"


def _of_search(operation: Json, request: RecordedRequest) -> Iterator[str]:
    if not request.headers.get("content-type", "").startswith("application/json"):
        yield "it takes JSON"
    body = json.loads(request.body)
    yield from (f"it takes no {name}" for name in [*(body.keys() - operation["body"].keys()), *request.query])
    yield from _of_number("limit", body.get("limit", 10), operation["body"]["limit"]["max"])
    if not re.fullmatch("[0-9]+", body.get("after", "0")):
        yield f"after is no integer as a string: {body['after']!r}"
    if len(body.get("query", "")) > LONGEST_QUERY:
        yield "query is too long"
    if not all(isinstance(item, str) for item in body.get("properties", [])):
        yield "properties are no list of names"
    if len(body.get("sorts", [])) > 1:
        yield "only one sort is honoured"
    yield from _of_groups([group["filters"] for group in body.get("filterGroups", [])])


def _of_groups(groups: list[list[Json]]) -> Iterator[str]:
    if len(groups) > MOST_GROUPS or any(len(group) > MOST_FILTERS for group in groups):
        yield "there are too many filters"
    for item in (one for group in groups for one in group):
        if item["operator"] not in _facts()["filter_operators"]:
            yield f"there is no operator {item['operator']}"


def _of_number(name: str, value: object, most: int) -> Iterator[str]:
    if not str(value).isdecimal() or not 1 <= int(str(value)) <= most:
        yield f"{name} is out of bounds: {value}"


@cache
def _operations() -> dict[tuple[str, str], Json]:
    """By method and path."""
    results = [value for kind in _facts()["operations"].values() for value in kind.values() if isinstance(value, dict)]
    return {(result["method"], re.sub(r"{(id|ownerId)}", "{id}", result["path_dated"])): result for result in results}


def _versions() -> list[str]:
    """Those that are dated."""
    return [match[0] for version in _facts()["versions"] if (match := re.match(r"\d{4}-\d{2}", version))]


def _facts() -> Json:
    return CONTRACT.read("contract-facts.json")
