"""The differences from the recordings that are accepted. Every other difference is an error.

Recordings are never renewed, so what has changed since then for a good reason is named here, each as narrowly as it
can be. Prose that the recordings do not contain in the first place is in `prose.py`.

1. Texts of tools' results have been reworded. What they quote and their numbers are compared.
2. Definitions in output schemas are named after classes, which have been renamed. Their content is compared.
3. The documentation page is another. What it shows, the contract, is compared.
4. There are new metrics.
5. Ids of records of calls have placeholders of their own: the batches in them depend on the load of the machine.
6. Calls outside of an agent's rule, and of disabled servers, have records. They were recorded nowhere.
7. Records of calls name a tool as its server does, also where the tool was not looked up.
8. Records of changes that Plugboard makes of itself have ids of requests of their own, and a cause.
9. A place to return to may have a fragment. The secrets are numbered without that of the new response.
10. The page of Connect has a second button, Cancel.
11. Where the browser returns after a failure, the server's id is added to the error.
12. Records have the address of the client, which is that of the machine.
L. The contract and its page are compressed and may be cached. The page has scripts, and a policy that allows them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.recorded.prose import TEXT, at_all

Json = dict[str, Any]
RESULT_PROSE = {
    "hubspot": ("structuredContent.notes.*",),
    "linear": ("structuredContent.notes.*",),
    "notion": ("structuredContent.notes.*", "structuredContent.message"),
    "posthog": ("structuredContent.notes.*",),
    "slack": ("structuredContent.hint",),
}
"""By service, the paths of prose in the result of a tool. The name of a tool begins with its service."""
FACT = re.compile(r"`[^`]+`|[0-9]+")
"""What must stay in a text: quoted names and values, and numbers."""
DEFINITIONS = "#/$defs/"
NEW_METRICS: Json = {
    "plugboard_cache_bytes": {"type": "gauge"},
    "plugboard_cache_evictions": {"type": "counter"},
    "plugboard_job_last_success_timestamp_seconds": {"type": "gauge"},
    "plugboard_job_running": {"type": "gauge"},
    "plugboard_job_runs": {"type": "counter"},
    "plugboard_http_requests": {"type": "counter"},
    "plugboard_http_request_seconds": {"type": "histogram"},
    "plugboard_store_seconds": {"type": "histogram"},
    "plugboard_upstream_connections": {"type": "gauge"},
    "plugboard_root_keys_missing": {"type": "gauge"},
    "plugboard_workers": {"type": "gauge"},
}
"""They count jobs in the background, requests, connections and memory, so their values are not compared."""
OF_PLUGBOARD = ("server.reconnect_required", "server.scopes_needed")
NEW_OUTCOMES = ("not_allowed", "disabled")
AGENTS_NAME = re.compile(r"^mcp_[a-z0-9-]+_")
"""What the name of a tool for agents has before the tool's own name."""
WITH_FRAGMENT = "?returnTo=https://console.example.com/%23part"
CANCEL = ['<button formaction="?cancel=true">', "<text>", "</button>"]
CACHING = {
    "cache-control": re.compile("no-store|no-cache"),
    "content-encoding": re.compile("gzip"),
    "content-security-policy": re.compile(r"default-src 'none'; (style-src|script-src 'self'; style-src) [^*]*"),
    "etag": re.compile('W/"[0-9a-f]{16}"'),
    "vary": re.compile("Accept-Encoding"),
}
"""Headers of what is published, each with its values then and now."""
REPLAYED = "idempotent-replayed"
REPLAYABLE = ("createWorkspace", "createApiKey", "createServer", "createAgent", "callTool")
SECRET = re.compile(r"<secret \d+>")
FAILED_SERVER = re.compile(r"(?<=[?&]error=)([a-z_]+)&serverId=<server \d+>")
"""In a `Location`: the error, and the server that was not connected."""
RECORD_ID = re.compile(r"<audit \d+>(_\d\d)?|<call_record \d+>")
"""A record of the audit. One of a call was recorded with the placeholder of its batch, and its place in it."""


def comparable(run: Json) -> Json:
    """A recording or a run without what may differ."""
    comparable_run = {
        "responses": [_comparable_entry(entry) for entry in run["responses"]],
        "background": run["background"],
    }
    return _with_numbered_secrets(_with_numbered_records(comparable_run))


def with_additions(recorded: Json) -> Json:
    """A recording with what has been added since."""
    return {**recorded, "responses": [_with_new_metrics(entry) for entry in recorded["responses"]]}


def _with_new_metrics(entry: Json) -> Json:
    is_changed = entry.get("operation") == "getMetrics" and entry["status"] == 200
    return {**entry, "body": entry["body"] | NEW_METRICS} if is_changed else entry


def _comparable_entry(entry: Json) -> Json:
    if entry.get("operation") in REPLAYABLE and entry["headers"].get(REPLAYED) == "true":
        entry = {**entry, "headers": {name: text for name, text in entry["headers"].items() if name != REPLAYED}}
    match entry:
        case {"operation": "callTool", "body": {"isError": False}, "name": str(name)}:
            paths = RESULT_PROSE.get(_service_of(name), ())
            return {**entry, "body": at_all(paths, entry["body"], _facts)}
        case {"operation": "listAgentTools" | "listServerTools", "body": {"tools": list(tools)}}:
            return {**entry, "body": {**entry["body"], "tools": [_comparable_tool(tool) for tool in tools]}}
        case {"operation": "listAudit", "body": list(records)}:
            return {**entry, "body": [_comparable_record(record) for record in records if not _is_refusal(record)]}
        case {"operation": "getDocs" | "getContract"}:
            return _comparable_published(entry)
        case _:
            return _comparable_connect(entry)


def _comparable_published(entry: Json) -> Json:
    headers = {name: text for name, text in entry["headers"].items() if not _is_caching(name, text)}
    is_page = entry["operation"] == "getDocs" and entry["body"]
    return {**entry, "headers": headers, "body": TEXT if is_page else entry["body"]}


def _is_caching(name: str, text: Any) -> bool:
    return name in CACHING and bool(CACHING[name].fullmatch(text))


def _comparable_connect(entry: Json) -> Json:
    match entry:
        case {"operation": "connectServer", "request": str(request)} if request.endswith(WITH_FRAGMENT):
            return {name: item for name, item in entry.items() if name not in ("body", "headers", "status")}
        case {"operation": "showConnect", "body": list(elements)}:
            return {**entry, "body": _without_cancel(elements)}
        case {"status": 303, "headers": {"location": str(location)}}:
            return {**entry, "headers": {**entry["headers"], "location": FAILED_SERVER.sub(r"\1", location)}}
        case _:
            return entry


def _without_cancel(elements: list[Any]) -> list[Any]:
    at = elements.index(CANCEL[0]) if CANCEL[0] in elements else len(elements)
    return elements[:at] + elements[at + len(CANCEL) :] if elements[at : at + len(CANCEL)] == CANCEL else elements


def _service_of(name: str) -> str:
    """Of a tool, or of a response to its call, which is named after the tool."""
    return name.partition("_")[0]


def _is_refusal(record: Json) -> bool:
    return record.get("outcome") in NEW_OUTCOMES


def _comparable_record(record: Json) -> Json:
    if record.get("clientAddress") == "127.0.0.1":
        record = {name: value for name, value in record.items() if name != "clientAddress"}
    if record.get("action") in OF_PLUGBOARD and record["actor"]["type"] == "system":
        return {name: value for name, value in record.items() if name not in ("requestId", "cause")}
    return {**record, "tool": AGENTS_NAME.sub("", record["tool"])} if "tool" in record else record


def _facts(text: Any) -> Any:
    return [TEXT, *sorted(FACT.findall(text))] if text and isinstance(text, str) else text


def _comparable_tool(tool: Json) -> Json:
    match tool:
        case {"name": str(name), "outputSchema": {"$defs": dict()}} if _service_of(name) in RESULT_PROSE:
            return {**tool, "outputSchema": _with_numbered_definitions(tool["outputSchema"])}
        case _:
            return tool


def _with_numbered_definitions(schema: Json) -> Json:
    """Definitions are numbered in the order in which the schema refers to them."""
    numbers: dict[str, str] = {}
    numbered = _numbered({name: item for name, item in schema.items() if name != "$defs"}, numbers)
    definitions: Json = {}
    while len(definitions) < len(numbers):
        name = list(numbers)[len(definitions)]
        definitions[numbers[name]] = _numbered(schema["$defs"].get(name), numbers)
    unused = {name: item for name, item in schema["$defs"].items() if name not in numbers}
    return {**numbered, "$defs": definitions | unused}


def _numbered(value: Any, numbers: dict[str, str]) -> Any:
    match value:
        case {"$ref": str(reference)} if reference.startswith(DEFINITIONS):
            beside = _numbered({name: item for name, item in value.items() if name != "$ref"}, numbers)
            number = numbers.setdefault(reference.removeprefix(DEFINITIONS), f"definition {len(numbers) + 1}")
            return {**beside, "$ref": number}
        case dict():
            return {name: _numbered(value[name], numbers) for name in sorted(value)}
        case list():
            return [_numbered(item, numbers) for item in value]
        case _:
            return value


def _with_numbered_secrets(run: Json) -> Json:
    """Secrets are numbered anew by first appearance."""
    numbers: dict[str, str] = {}
    text = json.dumps(run)
    numbered: Json = json.loads(
        SECRET.sub(lambda match: numbers.setdefault(match[0], f"<secret {len(numbers) + 1}>"), text)
    )
    return numbered


def _with_numbered_records(run: Json) -> Json:
    """Records are numbered anew by first appearance, those of calls by themselves."""
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        kind = "audit" if match[1] is None and match[0].startswith("<audit") else "call_record"
        return numbers.setdefault(match[0], f"<{kind} {len(numbers) + 1}>")

    numbered: Json = json.loads(RECORD_ID.sub(number, json.dumps(run, sort_keys=True)))
    return numbered
