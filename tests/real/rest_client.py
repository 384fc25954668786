"""A workspace of a served Plugboard, and what its admin does in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx2

from tests.real.catalogue import Running

Json = dict[str, Any]


@dataclass
class RestClient:
    admin: httpx2.Client
    path: str

    def server(self, run: Running) -> Json:
        return self._send("POST", "mcp-servers", 201, {"name": run.server.name, "url": run.url, "authType": "none"})

    def agent(self, *servers: Json) -> Json:
        return self._send(
            "POST", "agents", 201, {"name": "Support", "enabledMcpServerIds": [server["id"] for server in servers]}
        )

    def check(self, server: Json) -> Json:
        return self._send("POST", f"mcp-servers/{server['id']}/check")

    def tools(self, server: Json) -> Json:
        return self._send("GET", f"mcp-servers/{server['id']}/tools")

    def agent_tools(self, agent: Json, form: str = "mcp") -> Json:
        return self._send("GET", f"agents/{agent['id']}/tools?format={form}")

    def call(self, agent: Json, tool: str, args: Json) -> Json:
        return self._send("POST", f"agents/{agent['id']}/tool-calls", body={"toolName": tool, "args": args})

    def _send(self, method: str, path: str, status: int = 200, body: Json | None = None) -> Json:
        response = self.admin.request(method, f"{self.path}/{path}", json=body)
        assert response.status_code == status, response.text
        found: Json = response.json()
        return found
