"""What has been changed on purpose since the recordings: of single requests, and of the contract.

1. `config` on PUT merges by field. Versions of that server shift where a request succeeds that was refused before.
2. A change of nothing makes no version and no record, `version` in a body is a precondition, and there is PATCH.
3. A query parameter that a request does not have is refused.
4. A server with client credentials is connected before its first token. Its status says why the last request failed.
5. One API key can be read.
6. An agent has warnings about names in its tool rules.
7. The error of a header has the header's name in its path.
8. The contract may gain operations, parameters, fields and limits. What it had stays, but for `CONTRACT_CHANGES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.recorded.prose import TEXT

Json = dict[str, Any]
Path = tuple[str, ...]
UPDATE_SERVER = "updateServer"
NEW_OPERATIONS = {"getDocsFile"}
"""There was nothing to record of them. Their own tests cover them."""
OK = 200
JSON = "application/json"
PUT_ONLY, PUT_AND_PATCH = "DELETE, GET, HEAD, OPTIONS, PUT", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"
NO_KEY = "/api/workspaces/{workspace}/api-keys/{no_key}"
RENAMED = {"id": "<server 1>", "name": "Renamed", "type": "server"}


def patched(recorded: Json) -> Json:
    """A recording as the same requests are answered now."""
    responses: list[Json] = []
    versions = Versions()
    for entry in recorded["responses"]:
        if _key(entry) in UNCHANGED:
            now = _unchanged(entry, responses)
            if entry["status"] == OK:
                versions.forget(entry["body"], now["body"])
        else:
            now = versions.of(_patched(entry))
            versions.shifts.update({now["body"]["id"]: 1} if _key(entry) in NEW_SUCCESSES else {})
        responses.append(now)
    return {**recorded, "responses": responses}


def _unchanged(entry: Json, earlier: list[Json]) -> Json:
    """As the last response that showed the object."""
    path = entry["request"].partition(" ")[2]
    shown = next(
        each for each in reversed(earlier) if each["request"].partition(" ")[2] == path and "etag" in each["headers"]
    )
    headers = {"content-type": JSON, "etag": shown["headers"]["etag"]}
    kept = {name: text for name, text in entry["headers"].items() if name != "allow"}
    operation = entry["operation"] or next(name for part, name in PATCHES.items() if part in path)
    return {**entry, "operation": operation, "status": OK, "headers": kept | headers, "body": shown["body"]}


def _patched(entry: Json) -> Json:
    change = CHANGED.get(_key(entry))
    if change:
        return change(entry)
    if entry["headers"].get("allow") == PUT_ONLY:
        entry = {**entry, "headers": entry["headers"] | {"allow": PUT_AND_PATCH}}
    match entry:
        case {"operation": "getContract", "body": {"paths": _} as contract}:
            return {**entry, "body": _changed(contract)}
        case {"operation": "listAudit", "body": list(records)}:
            return {**entry, "body": [changed for record in records for changed in _records(record)]}
        case _:
            return entry


def _records(record: Json) -> list[Json]:
    """The records of today in place of this one."""
    match record:
        case {"requestId": "<request_id 151>", "fields": []} if record["target"] == RENAMED:  # it is still there
            return [{**record, "fields": ["config.headerValue"]}]
        case {"action": str(action), "fields": []} if action.endswith(".updated"):
            return []
    if record["target"] != RENAMED:
        return [record]
    match record:
        case {"requestId": "<request_id 149>"}:  # `headerValue` stays
            return [{**record, "fields": ["config.headers"]}]
        case {"requestId": "<request_id 157>"}:  # the next request was refused
            fields = {"at": "2027-01-15T08:03:45.000Z", "requestId": "<request_id 158>", "id": "<audit 9000>"}
            return [{**record, **fields, "fields": ["config.username"]}, record]
        case _:
            return [record]


def _key(entry: Json) -> tuple[str, str]:
    return entry.get("operation", ""), entry["name"]


def _with_body(**fields: Any) -> Callable[[Json], Json]:
    return lambda entry: {**entry, "body": entry["body"] | fields}


def _problem(status: int, code: str, *paths: str) -> Callable[[Json], Json]:
    errors = {"errors": [{"path": path, "message": TEXT} for path in paths]} if paths else {}
    kind = {"type": f"urn:plugboard:problem:{code}", "title": TEXT, "status": status, "code": code, "detail": TEXT}
    problem = {"content-type": "application/problem+json"}

    def change(entry: Json) -> Json:
        headers = {name: text for name, text in entry["headers"].items() if name not in ("etag", "link")}
        return {**entry, "status": status, "headers": headers | problem, "body": kind | errors}

    return change


def _found_by_patch(operation: str, answer: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """A path whose objects had no PATCH."""

    def change(entry: Json) -> Json:
        headers = {name: text for name, text in entry["headers"].items() if name != "allow"}
        return answer({**entry, "operation": operation, "headers": headers})

    return change


def _with_get(entry: Json) -> Json:
    """A path that had no GET."""
    return {**entry, "headers": entry["headers"] | {"allow": "DELETE, GET, HEAD, OPTIONS"}}


def _found_by_head(operation: str) -> Callable[[Json], Json]:
    """Of an object that is not there, on a path that had no GET."""

    def change(entry: Json) -> Json:
        headers = {name: text for name, text in entry["headers"].items() if name != "allow"}
        return {**entry, "operation": operation, "status": 404, "headers": headers}

    return change


def _succeeds(body: Json) -> Callable[[Json], Json]:
    """A request that was refused."""

    def change(entry: Json) -> Json:
        headers = entry["headers"] | {"content-type": JSON, "etag": f'"{body["version"]}"'}
        return {**entry, "status": OK, "headers": headers, "body": body}

    return change


CHANGED: Mapping[tuple[str, str], Callable[[Json], Json]] = {
    (UPDATE_SERVER, "add a header"): _with_body(configured=["headerValue", "headers"]),
    (UPDATE_SERVER, "clear a header"): _with_body(configured=["headerValue"]),
    (UPDATE_SERVER, "give what does not go with it"): _with_body(
        errors=[{"message": "<text>", "path": "config.password"}]
    ),
    **{
        (operation, f"{verb} {header}"): _problem(422, "invalid", f"config.headers.{name}")
        for operation, verb in (("createServer", "create with"), (UPDATE_SERVER, "change to"))
        for header, name in (("a reserved header", "Host"), ("the same header twice", "x-key"))
    },
    (UPDATE_SERVER, "send back what was read"): _problem(412, "stale"),
    ("getConnection", "the status of machine, that is not known"): _with_body(connected=True, problem=TEXT),
    ("updateAgent", "allow another tool"): _with_body(warnings=[TEXT]),
    ("updateAgent", "send back what was read"): _problem(412, "stale"),
    ("updateWorkspace", "rename with what was read"): _problem(412, "stale"),
    ("updateWorkspace", "rename with all that was read"): _problem(412, "stale"),
    ("listServices", "the services, with a query"): _problem(422, "invalid", "limit", "x"),
    ("listWorkspaces", "list with unknown=1"): _problem(422, "invalid", "unknown"),
    ("", "PATCH /api/workspaces/{workspace}"): _found_by_patch(
        "patchWorkspace",
        _succeeds(
            {
                "createdAt": "2027-01-15T08:00:00.000Z",
                "id": "<workspace 1>",
                "name": "Recorded",
                "updatedAt": "2027-01-15T08:00:00.000Z",
                "version": 1,
            }
        ),
    ),
    ("", "PATCH /api/workspaces/{workspace}/agents/{no_agent}"): _found_by_patch(
        "patchAgent", _problem(404, "not_found")
    ),
    ("", "PATCH /api/workspaces/{workspace}/mcp-servers/{no_server}"): _found_by_patch(
        "patchServer", _problem(404, "not_found")
    ),
    ("", f"OPTIONS {NO_KEY}"): _with_get,
    ("", f"HEAD {NO_KEY}"): _found_by_head("getApiKey"),
    ("", f"PUT {NO_KEY}"): _with_get,
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

NEW_SUCCESSES = {(UPDATE_SERVER, "sign in with less")}
"""They make a version that there was not."""

UNCHANGED = {
    (UPDATE_SERVER, "change nothing"),
    ("updateAgent", "change nothing"),
    ("updateWorkspace", "rename without any field"),
    ("", "change with PATCH"),  # its script was changed: it gives the name that the object has
}
"""They make no version any more, and no record."""

PATCHES = {"/agents/": "patchAgent", "/mcp-servers/": "patchServer"}


@dataclass
class Versions:
    """How the versions of objects, and the times of their changes, differ from the recorded ones."""

    shifts: Counter[str] = field(default_factory=Counter)
    times: dict[tuple[str, str], str] = field(default_factory=dict)

    def forget(self, recorded: Json, now: Json) -> None:
        """A change of nothing, which made a version then."""
        self.shifts[now["id"]] -= 1
        self.times[now["id"], recorded["updatedAt"]] = now["updatedAt"]

    def of(self, entry: Json) -> Json:
        match entry:
            case {"body": list(items), "operation": "listServers" | "listAgents" | "listWorkspaces"}:
                return {**entry, "body": [self._item(item) for item in items]}
            case {"body": {"version": _}, "headers": {"etag": _}}:
                body = self._item(entry["body"])
                return {**entry, "headers": entry["headers"] | {"etag": f'"{body["version"]}"'}, "body": body}
            case _:
                return entry

    def _item(self, item: Any) -> Any:
        match item:
            case {"id": str(object_id), "version": int(version), "updatedAt": str(time)}:
                now = self.times.get((object_id, time), time)
                return {**item, "version": version + self.shifts[object_id], "updatedAt": now}
            case _:
                return item


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


def _nullable_rules(schema: Json) -> Json:
    """A null deletes a tool rule, in a body without required fields: of a change."""
    match schema:
        case {
            "properties": {
                "enabledMcpServerToolNames": {"additionalProperties": {"type": "array"} as names} as rules
            } as fields
        } if "required" not in schema:
            changed = {**rules, "additionalProperties": {**names, "type": ["array", "null"]}}
            return {**schema, "properties": {**fields, "enabledMcpServerToolNames": changed}}
        case _:
            return schema


def _untitled_body(schema: Json) -> Json:
    """The body of a POST is no named component any more. Only these schemas are closed and have required fields."""
    match schema:
        case {"additionalProperties": False, "required": [*_], "title": str()}:
            return {name: item for name, item in schema.items() if name != "title"}
        case _:
            return schema


CONTRACT_CHANGES = (_untitled_body, _nullable_headers, _nullable_rules)
