"""What has been changed on purpose since the recordings: of single requests, and of the contract.

1. `config` on PUT merges by field. Versions of that server shift where a request succeeds that was refused before.
2. The contract may gain operations, parameters, fields and limits. What it had stays, but for `CONTRACT_CHANGES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]
Path = tuple[str, ...]
UPDATE_SERVER = "updateServer"
RENAMED = {"id": "<server 1>", "name": "Renamed", "type": "server"}


def patched(recorded: Json) -> Json:
    """A recording as the same requests are answered now."""
    responses = [_patched(entry) for entry in recorded["responses"]]
    for operation, name, object_id, shift in VERSION_SHIFTS:
        starts = [place for place, entry in enumerate(responses) if _key(entry) == (operation, name)]
        for place in range(starts[0] + 1, len(responses)) if starts else ():
            responses[place] = _shifted(responses[place], object_id, shift)
    return {**recorded, "responses": responses}


def _patched(entry: Json) -> Json:
    change = CHANGED.get(_key(entry))
    if change:
        return change(entry)
    match entry:
        case {"operation": "getContract", "body": {"paths": _} as contract}:
            return {**entry, "body": _changed(contract)}
        case {"operation": "listAudit", "body": list(records)}:
            return {**entry, "body": [changed for record in records for changed in _records(record)]}
        case _:
            return entry


def _records(record: Json) -> list[Json]:
    """The records of today in place of this one."""
    if record["target"] != RENAMED:
        return [record]
    match record:
        case {"requestId": "<request_id 149>"}:  # `headerValue` stays
            return [{**record, "fields": ["config.headers"]}]
        case {"requestId": "<request_id 151>", "fields": []}:  # `headerValue` is still there to be cleared
            return [{**record, "fields": ["config.headerValue"]}]
        case {"requestId": "<request_id 157>"}:  # the next request was refused
            fields = {"at": "2027-01-15T08:03:45.000Z", "requestId": "<request_id 158>", "id": "<audit 9000>"}
            return [{**record, **fields, "fields": ["config.username"]}, record]
        case _:
            return [record]


def _key(entry: Json) -> tuple[str, str]:
    return entry.get("operation", ""), entry["name"]


def _with_body(**fields: Any) -> Callable[[Json], Json]:
    return lambda entry: {**entry, "body": entry["body"] | fields}


def _succeeds(body: Json) -> Callable[[Json], Json]:
    """A request that was refused."""

    def change(entry: Json) -> Json:
        headers = entry["headers"] | {"content-type": "application/json", "etag": f'"{body["version"]}"'}
        return {**entry, "status": 200, "headers": headers, "body": body}

    return change


CHANGED: Mapping[tuple[str, str], Callable[[Json], Json]] = {
    (UPDATE_SERVER, "add a header"): _with_body(configured=["headerValue", "headers"]),
    (UPDATE_SERVER, "clear a header"): _with_body(configured=["headerValue"]),
    (UPDATE_SERVER, "give what does not go with it"): _with_body(
        errors=[{"message": "<text>", "path": "config.password"}]
    ),
    (UPDATE_SERVER, "sign in with less"): _succeeds(
        {
            "authType": "basic",
            "configured": ["password", "username"],
            "createdAt": "2027-01-15T08:01:08.000Z",
            "description": "",
            "enabled": True,
            "exposure": "both",
            "id": "<server 1>",
            "name": "Renamed",
            "serviceType": "external",
            "slug": "sky-2",
            "timeoutSeconds": 30,
            "updatedAt": "2027-01-15T08:03:45.000Z",
            "url": "https://api.weather.example.com/mcp",
            "version": 13,
        }
    ),
}
"""By operation and name of the request."""

VERSION_SHIFTS = [(UPDATE_SERVER, "sign in with less", "<server 1>", 1)]
"""The request, the object and by how much its later versions differ."""


def _shifted(entry: Json, object_id: str, shift: int) -> Json:
    body = entry.get("body")
    if not isinstance(body, dict) or body.get("id") != object_id or "version" not in body:
        return entry
    version = body["version"] + shift
    headers = entry["headers"] | {"etag": f'"{version}"'} if "etag" in entry["headers"] else entry["headers"]
    return {**entry, "headers": headers, "body": {**body, "version": version}}


def comparable_contracts(recorded: Json, now: Json) -> tuple[Json, Json]:
    """Both with their references replaced by what they refer to, and the present one without what it has gained."""
    before, after = _inlined_paths(recorded), _inlined_paths(now)
    return before, {**after, "paths": _kept(after["paths"], before["paths"])}


def _inlined_paths(contract: Json) -> Json:
    components = contract.get("components", {})
    schemes = {"securitySchemes": components.get("securitySchemes")}
    return {**contract, "paths": _inlined(contract["paths"], components, ()), "components": schemes}


def _inlined(value: Any, components: Json, within: Path) -> Any:
    match value:
        case {"$ref": str(name)} if name in within:
            return "recursive"
        case {"$ref": str(name)}:
            beside = {key: _inlined(item, components, within) for key, item in value.items() if key != "$ref"}
            target = _inlined(components.get(name), components, (*within, name))
            return target | beside if isinstance(target, dict) else target
        case dict():
            return {key: _inlined(item, components, within) for key, item in value.items()}
        case list():
            return [_inlined(item, components, within) for item in value]
        case _:
            return value


def _kept(now: Any, before: Any) -> Any:
    """`now` without what `before` lacks. Parameters are known by their names; other lists are compared as they are."""
    match now, before:
        case dict(), dict():
            return {name: _kept(now[name], value) for name, value in before.items() if name in now}
        case list(), [{"in": _, "name": _}, *_]:
            known = {(item["in"], item["name"]): item for item in now}
            return [_kept(known[key], item) for item in before if (key := (item["in"], item["name"])) in known]
        case list(), list() if len(now) == len(before):
            return [_kept(item, old) for item, old in zip(now, before, strict=True)]
        case _:
            return now


def _changed(value: Any) -> Any:
    """A recorded contract with `CONTRACT_CHANGES`."""
    match value:
        case dict():
            value = {name: _changed(item) for name, item in value.items()}
            for change in CONTRACT_CHANGES:
                value = change(value)
            return value
        case list():
            return [_changed(item) for item in value]
        case _:
            return value


def _nullable_headers(schema: Json) -> Json:
    """A header in `config` may be null."""
    match schema:
        case {"maxProperties": 20, "additionalProperties": {"format": "password", "type": "string"} as header}:
            return {**schema, "additionalProperties": {**header, "type": ["string", "null"]}}
        case _:
            return schema


CONTRACT_CHANGES = (_nullable_headers,)
