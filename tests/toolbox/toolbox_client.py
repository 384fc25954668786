"""A client for the tools of agents in a workspace whose servers are fakes on 127.0.0.1."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from demo.mcp_servers import FakeMcpServer, LegacyServer, McpRequest, McpResponse, PlainServer
from tests.fakes.upstream_host import UpstreamHost
from tests.harness import Workspace

SECRET = "canary-f00d-for-the-upstream"
Json = dict[str, Any]


@dataclass(frozen=True)
class ToolboxClient:
    workspace: Workspace
    upstream_host: UpstreamHost

    @property
    def admin(self) -> httpx2.Client:
        return self.workspace.admin

    def server(self, fake: FakeMcpServer, slug: str = "weather", **changed: Any) -> Json:
        """Stored with a credential, and pointing at the fake."""
        path = "sse" if isinstance(fake, LegacyServer) else "mcp"
        config = {"config": {"headerValue": f"Bearer {SECRET}"}} if "authType" not in changed else {}
        fields = {"name": slug.title(), "slug": slug, "url": f"{self.upstream_host.mount(fake)}/{path}"}
        return self.workspace.make_server(**{**fields, **config, **changed})

    def change(self, server: Json, **changed: Any) -> Json:
        response = self.admin.put(f"{self.workspace.servers}/{server['id']}", json=changed)
        assert response.status_code == 200, response.text
        created: Json = response.json()
        return created

    def agent(self, *servers: Json, **changed: Any) -> str:
        ids = [server["id"] for server in servers]
        agent_id: str = self.workspace.make_agent(enabledMcpServerIds=ids, **changed)["id"]
        return agent_id

    def post_call(self, agent: str, tool: str, args: Mapping[str, Any] | None = None) -> httpx2.Response:
        body = {"toolName": tool, "args": dict(args or {})}
        return self.admin.post(f"{self.workspace.agents}/{agent}/tool-calls", json=body)

    def call(self, agent: str, tool: str, args: Mapping[str, Any] | None = None) -> Json:
        answer = self.post_call(agent, tool, args)
        assert answer.status_code == 200, answer.text
        result: Json = answer.json()
        return result

    def list(self, agent: str, form: str = "mcp") -> Json:
        return _read(self.admin.get(f"{self.workspace.agents}/{agent}/tools", params={"format": form}))

    def names(self, agent: str) -> list[str]:
        return [tool["name"] for tool in self.list(agent)["tools"]]

    def tools_of(self, server: Json, **query: str) -> Json:
        return _read(self.admin.get(f"{self.workspace.servers}/{server['id']}/tools", params=query))

    def check(self, server: Json) -> Json:
        return _read(self.admin.post(f"{self.workspace.servers}/{server['id']}/check"))


def generic(server: Json) -> str:
    return f"mcp_{server['id']}"


def failure(result: Json) -> tuple[str, str]:
    """The kind and the text of a call that failed."""
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": result["text"]}]
    return result["error"]["kind"], result["text"]


def call_answered_with(toolbox: ToolboxClient, answer: Callable[[McpRequest], McpResponse], way: str = "named") -> Json:
    """What comes of a call that the upstream answers like that."""
    server = toolbox.server(PlainServer(tools_call=answer))
    agent = toolbox.agent(server)
    if way == "named":
        return toolbox.call(agent, "mcp_weather_echo")
    return toolbox.call(agent, generic(server), {"method": "tools/call", "params": {"name": "echo", "arguments": {}}})


def wait_until(holds: Callable[[], bool], patience: float = 20.0) -> None:
    """For what happens in the background, after the answer."""
    deadline, pause = time.monotonic() + patience, threading.Event()
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        pause.wait(0.005)


def _read(response: httpx2.Response) -> Json:
    assert response.status_code == 200, response.text
    read: Json = response.json()
    return read
