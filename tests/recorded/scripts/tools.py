"""Lists of tools in every form, and checks, of servers of every kind."""

from __future__ import annotations

from typing import Any

from tests.recorded.script import Request, Script, get, post, put
from tests.recorded.upstreams import SECRET

WORKSPACE = "/api/workspaces/{workspace}"
SERVERS, AGENTS = f"{WORKSPACE}/mcp-servers", f"{WORKSPACE}/agents"
KINDS = (
    *("weather", "modern", "session", "streaming", "legacy", "odd", "toolless", "guarded", "broken", "lost", "page"),
    *("closed", "silent"),
)
FORMATS = ("mcp", "openai", "anthropic")
NAMED = {"name": "Named", "description": "Of its own", "enabledMcpServerIds": ["{weather}", "{modern}"]}


def _server(kind: str, **changed: Any) -> Request:
    fields = {
        "name": kind.title(),
        "url": f"{{{kind}_url}}",
        "authType": "header",
        "config": {"headerValue": f"Bearer {SECRET}"},
        "timeoutSeconds": 1 if kind == "silent" else 30,
    }
    return post(f"create {kind}", SERVERS, {**fields, **changed}, saves={kind: "id"})


def _agent(name: str, *servers: str, **rules: Any) -> Request:
    body = {"name": name, "enabledMcpServerIds": [f"{{{server}}}" for server in servers], **rules}
    return post(f"create the agent {name}", AGENTS, body, saves={name: "id"})


SCRIPT: Script = [
    *(_server(kind) for kind in KINDS),
    _server("generic", url="{modern_url}", exposure="generic", authType="none", config={}),
    _server(
        "apart", url="{modern_url}", exposure="tools", authType="basic", config={"username": "a", "password": SECRET}
    ),
    _server("disabled", url="{modern_url}", enabled=False),
    _server("unconnected", url="{acme_url}", authType="oauth", config={}),
    _server("notion", url=None, serviceType="notion", authType="oauth", config={}),
    *(
        post(f"check {kind}", f"{SERVERS}/{{{kind}}}/check", caller="manage")
        for kind in (*KINDS, "disabled", "unconnected")
    ),
    post("check a service", f"{SERVERS}/{{notion}}/check"),
    post("check one that is not there", f"{SERVERS}/{{no_server}}/check"),
    *(
        get(f"list the tools of {kind}", f"{SERVERS}/{{{kind}}}/tools", "read")
        for kind in (*KINDS, "generic", "apart")
        if kind != "silent"
    ),
    *(
        get(f"list the tools of {kind}", f"{SERVERS}/{{{kind}}}/tools")
        for kind in ("disabled", "unconnected", "notion")
    ),
    get("list the tools again", f"{SERVERS}/{{weather}}/tools"),
    get("list the tools anew", f"{SERVERS}/{{weather}}/tools?refresh=true"),
    get("list the tools as they are", f"{SERVERS}/{{weather}}/tools?refresh=false"),
    get("list the tools, with nonsense", f"{SERVERS}/{{weather}}/tools?refresh=maybe"),
    get("list the tools by another workspace", f"{SERVERS}/{{weather}}/tools", "foreign"),
    _agent("everything", *(kind for kind in KINDS if kind != "silent"), "generic", "apart", "disabled", "unconnected"),
    _agent("nothing"),
    _agent(
        "some", "weather", "modern", enabledMcpServerToolNames={"{weather}": ["forecast", "blocks"], "{modern}": []}
    ),
    _agent("services", "notion"),
    _agent("slow", "silent"),
    *(
        get(f"list the tools of {agent} for {form}", f"{AGENTS}/{{{agent}}}/tools?format={form}", "invoke")
        for agent in ("everything", "some", "services", "nothing")
        for form in FORMATS
    ),
    get("list the tools of nothing in particular", f"{AGENTS}/{{some}}/tools", "read"),
    get("list the tools in no such form", f"{AGENTS}/{{some}}/tools?format=gemini"),
    get("list the tools in no form", f"{AGENTS}/{{some}}/tools?format="),
    get("list the tools of a slow server", f"{AGENTS}/{{slow}}/tools"),
    get("list the tools of none", f"{AGENTS}/{{no_agent}}/tools"),
    get("list the tools of another workspace", f"{AGENTS}/{{some}}/tools", "foreign"),
    put("rename a server", f"{SERVERS}/{{modern}}", {"slug": "other", "name": "Other 'quoted'"}),
    put("allow another tool", f"{AGENTS}/{{some}}", {"enabledMcpServerToolNames": {"{modern}": ["echo", "absent"]}}),
    get("list the tools after that", f"{AGENTS}/{{some}}/tools"),
    put("show only the generic tool", f"{SERVERS}/{{modern}}", {"exposure": "generic"}),
    put(
        "enable it alone", f"{AGENTS}/{{some}}", {"enabledMcpServerToolNames": {}, "enabledMcpServerIds": ["{modern}"]}
    ),
    get("list the generic tool", f"{AGENTS}/{{some}}/tools"),
]
