"""The changes on purpose are as narrow as they can be."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.recorded.comparison import differences
from tests.recorded.intended_changes import CHANGED, NEW_SUCCESSES, UNCHANGED, patched
from tests.recorded.recording import read
from tests.recorded.scripts import SCRIPTS

Json = dict[str, Any]
TEXT = {"type": "string"}
CONTRACT: Json = {
    "openapi": "3.1.0",
    "paths": {
        "/a": {
            "get": {
                "parameters": [{"in": "query", "name": "limit", "schema": {"type": "integer"}}],
                "responses": {"200": {"$ref": "component 1"}},
            }
        }
    },
    "components": {
        "component 1": {"properties": {"code": TEXT, "of": {"$ref": "component 1"}}, "required": ["code"]},
        "securitySchemes": {},
    },
}


def contract(body: Json) -> Json:
    entry = {"name": "the contract", "operation": "getContract", "status": 200, "headers": {}, "body": body}
    return {"responses": [entry], "background": []}


def changed(path: str, value: Any) -> Json:
    """The contract with another value there; None removes it."""
    copy = deepcopy(CONTRACT)
    *steps, last = path.split(" > ")
    target: Any = copy
    for step in steps:
        target = target[int(step) if isinstance(target, list) else step]
    target[last] = value
    if value is None:
        del target[last]
    return copy


def is_accepted(now: Json) -> bool:
    return not differences(contract(CONTRACT), contract(now))


RESPONSE = "components > component 1"


@pytest.mark.parametrize(
    "now",
    [
        changed("paths > /b", {}),
        changed("paths > /a > patch", {}),
        changed("paths > /a > get > parameters > 0 > example", 5),
        changed(
            "paths > /a > get > parameters",
            [{"in": "query", "name": "q"}, *CONTRACT["paths"]["/a"]["get"]["parameters"]],
        ),
        changed("paths > /a > get > responses > 400", TEXT),
        changed(f"{RESPONSE} > properties > added", TEXT),
        changed(f"{RESPONSE} > properties > code > enum", ["a"]),
    ],
)
def test_the_contract_may_gain(now: Json) -> None:
    assert is_accepted(now)


@pytest.mark.parametrize(
    "now",
    [
        changed("openapi", "3.0.0"),
        CONTRACT | {"added": 1},
        changed("paths > /a", None),
        changed("paths > /a > get", None),
        changed("paths > /a > get > parameters", []),
        changed("paths > /a > get > parameters > 0 > schema", TEXT),
        changed("paths > /a > get > responses > 200", None),
        changed(RESPONSE, None),
        changed("components > securitySchemes", {"apiKey": {}}),
        changed(f"{RESPONSE} > properties > code", None),
        changed(f"{RESPONSE} > properties > code > type", "integer"),
        changed(f"{RESPONSE} > required", ["code", "of"]),
        changed(f"{RESPONSE} > required", None),
    ],
)
def test_what_the_contract_has_stays(now: Json) -> None:
    assert not is_accepted(now)


def test_each_change_is_of_a_recorded_request() -> None:
    recorded = {(entry.get("operation", ""), entry["name"]) for name in SCRIPTS for entry in read(name)["responses"]}

    assert CHANGED.keys() | NEW_SUCCESSES | UNCHANGED <= recorded


def test_each_change_changes_its_request_only() -> None:
    """Versions shift, and records of the audit differ; other responses are as recorded."""
    for script in SCRIPTS:
        before = read(script)
        for entry, now in zip(before["responses"], patched(before)["responses"], strict=True):
            if entry != now and (entry.get("operation", ""), entry["name"]) not in CHANGED.keys() | UNCHANGED:
                assert entry["status"] == now["status"]
                assert entry["operation"] in ("listAudit", "getContract") or plain(entry) == plain(now), entry["name"]


def plain(entry: Json) -> Json:
    """Without the versions and the methods of the path."""
    headers = {name: value for name, value in entry["headers"].items() if name not in ("etag", "allow")}
    body = entry["body"] if isinstance(entry["body"], list) else [entry["body"]]
    shown = [
        {name: value for name, value in item.items() if name not in ("version", "updatedAt")}
        if isinstance(item, dict)
        else item
        for item in body
    ]
    return {**entry, "headers": headers, "body": shown}
