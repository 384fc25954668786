"""A workspace with a server of a service in it, and an agent that calls the service's tools over HTTP."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.conformance.browser import Browser
from tests.harness import Plugboard, Workspace

SNAPSHOTS = Path(__file__).parent / "snapshots"
Json = dict[str, Any]


@dataclass(frozen=True)
class ToolDesk:
    workspace: Workspace
    server: str
    slug: str
    agent: str

    @classmethod
    def of(cls, plugboard: Plugboard, service: str, *, connect: bool = True, **fields: Any) -> ToolDesk:
        """`fields` for what an OAuth server does without: `authType`, `url`, `config`, `timeoutSeconds`."""
        workspace = plugboard.make_workspace()
        usual = {"name": "Acme", "serviceType": service, "authType": "oauth", "url": None, "config": {}}
        made = workspace.make_server(**{**usual, **fields})
        agent = workspace.make_agent(enabledMcpServerIds=[made["id"]])["id"]
        desk = cls(workspace, made["id"], made["slug"], agent)
        if connect and made["authType"] == "oauth":
            desk.connect()
        return desk

    def connect(self) -> None:
        """As a person would, with a browser."""
        plugboard = self.workspace.plugboard
        told = _read(self.workspace.admin.get(f"{self.workspace.servers}/{self.server}/oauth/authorize"))
        browser = Browser(plugboard.settings.public_url, plugboard.url)
        assert browser.connect(told["authUrl"]) == {"connected": self.server}

    def change(self, **fields: Any) -> None:
        answer = self.workspace.admin.put(f"{self.workspace.servers}/{self.server}", json=fields)
        assert answer.status_code == 200, answer.text

    def name(self, tool: str) -> str:
        return f"{tool}_{self.slug}"

    def call(self, tool: str, **args: Any) -> Json:
        """The whole answer, whatever came of it."""
        body = {"toolName": self.name(tool), "args": args}
        return _read(self.workspace.admin.post(f"{self.workspace.agents}/{self.agent}/tool-calls", json=body))

    def found(self, tool: str, **args: Any) -> Json:
        """What is structured of an answer that is no failure, and that keeps what the tool promises."""
        called = self.call(tool, **args)
        assert called["isError"] is False, called["text"]
        jsonschema_rs.validate(self.listed()[self.name(tool)]["outputSchema"], called["structuredContent"])
        structured: Json = called["structuredContent"]
        return structured

    def failed(self, tool: str, kind: str, **args: Any) -> Json:
        called = self.call(tool, **args)
        assert called["isError"] is True, called["text"]
        assert called["error"]["kind"] == kind, called
        return called

    def listed(self) -> dict[str, Json]:
        """The agent's tools, by name."""
        tools = _read(self.workspace.admin.get(f"{self.workspace.agents}/{self.agent}/tools"))["tools"]
        return {tool["name"]: tool for tool in tools}


def approve(service: str, name: str, text: str) -> None:
    """It is what a person has read and approved. `PLUGBOARD_APPROVE=1` writes it anew, for a person to read."""
    path = SNAPSHOTS / service / f"{name}.txt"
    if os.environ.get("PLUGBOARD_APPROVE") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is not there: write it with PLUGBOARD_APPROVE=1, and read it"
    assert text == path.read_text(encoding="utf-8")


def _read(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()
