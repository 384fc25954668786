"""The tools of all services, called with the arguments in `service_tools.json`, and failures of what is behind them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.recorded.script import ANONYMOUS, Consent, ProviderChange, Request, Script, Step, get, post

WORKSPACE = "/api/workspaces/{workspace}"
SERVERS, AGENTS = f"{WORKSPACE}/mcp-servers", f"{WORKSPACE}/agents"
CALLS: Mapping[str, Mapping[str, list[Any]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
POSTHOG = {"authType": "header", "url": "https://us.posthog.com", "config": {"apiKey": "phx_demo"}}
FAULTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "notion": {
        "is down": {"kind": "down"},
        "is busy": {"kind": "busy", "retry_after": 100},
        "closes": {"kind": "close"},
    },
    "slack": {"answers nonsense": {"kind": "html"}, "is busy": {"kind": "busy", "retry_after": 100}},
}
"""A failure takes its time, as the request is repeated; all services have the same client."""


def _server(service: str) -> Request:
    fields = {"name": "Acme", "slug": service, "serviceType": service, "authType": "oauth", "url": None}
    more = POSTHOG if service == "posthog" else {}
    return post(f"create {service}", SERVERS, {**fields, **more}, saves={service: "id"})


def _connect(service: str) -> list[Step]:
    saves = {"location": "Location", "cookie": "Set-Cookie"}
    return [
        get(f"connect {service}", f"{SERVERS}/{{{service}}}/oauth/authorize", saves={"page": "authUrl"}),
        Request(f"connect {service}: the button", "POST", "{page}", ANONYMOUS, saves=saves),
        Consent(),
        get(f"connect {service}: back", "{callback}", ANONYMOUS, headers={"Cookie": "{cookie}"}),
    ]


def _call(service: str, tool: str, args: Any, what: str) -> Request:
    body = {"toolName": f"{tool}_{service}", "args": args}
    return post(f"{tool}: {what}", f"{AGENTS}/{{agent}}/tool-calls", body)


def _first(service: str) -> tuple[str, Any]:
    tool, arguments = next(
        (tool, each) for tool, each in CALLS[service].items() if "_list_" in tool or "_search" in tool
    )
    return tool, arguments[0]


def _failures(service: str) -> Iterator[Step]:
    tool, args = _first(service)
    for what, fault in FAULTS.get(service, {}).items():
        yield ProviderChange(service, heal=True, fault={**fault, "endpoint": "api"})
        yield _call(service, tool, args, f"{service} {what}")
    yield ProviderChange(service, heal=True)


def _script(service: str) -> Script:
    has_oauth = service != "posthog"
    return [
        _server(service),
        post(
            "create the agent",
            AGENTS,
            {"name": "Caller", "enabledMcpServerIds": [f"{{{service}}}"]},
            saves={"agent": "id"},
        ),
        *([_call(service, *_first(service), "not connected"), *_connect(service)] if has_oauth else []),
        get("list the tools", f"{AGENTS}/{{agent}}/tools"),
        post("check", f"{SERVERS}/{{{service}}}/check"),
        *(
            _call(service, tool, args, json.dumps(args, ensure_ascii=False))
            for tool, arguments in CALLS[service].items()
            for args in arguments
        ),
        *_failures(service),
    ]


SCRIPTS: Mapping[str, Script] = {f"{service}_tools": _script(service) for service in CALLS}
