"""What does a model read of a service's tools, called over HTTP by an agent of a workspace that has it connected?"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import jsonschema_rs

from demo.oauth_provider.server import OAuthProvider, Tenant
from tests.conformance.browser import Browser
from tests.harness import Plugboard, Workspace
from tests.toolkits.contract import Contract, Json

SNAPSHOTS = Path(__file__).parent / "snapshots"
MAX_TEXT = 50_000
"""Characters of an answer, whatever is behind it."""
CUT_NOTE = "left out. Ask for less"
OUTPUT_VALIDATORS: dict[str, jsonschema_rs.Validator] = {}
"""By tool, what it says that it gives: to ask for it and to read it takes longer than a call."""


@dataclass(frozen=True)
class ServiceTools:
    workspace: Workspace
    server: str
    slug: str
    agent: str

    @classmethod
    def of(cls, plugboard: Plugboard, service: str, *, connect: bool = True, **fields: Any) -> ServiceTools:
        """`fields` for what an OAuth server does without: `authType`, `url`, `config`, `timeoutSeconds`."""
        workspace = plugboard.make_workspace()
        server = _server(workspace, service, fields)
        agent = workspace.make_agent(enabledMcpServerIds=[server["id"]])["id"]
        desk = cls(workspace, server["id"], server["slug"], agent)
        if connect and server["authType"] == "oauth":
            desk.connect()
        return desk

    def another(self, service: str, **fields: Any) -> ServiceTools:
        """Of a second server with the same name; the agent has to get it yet."""
        server = _server(self.workspace, service, fields)
        desk = ServiceTools(self.workspace, server["id"], server["slug"], self.agent)
        if server["authType"] == "oauth":
            desk.connect()
        return desk

    def enable(self, *desks: ServiceTools) -> None:
        """The agent has these servers from now on, and no other."""
        servers = {"enabledMcpServerIds": [desk.server for desk in desks]}
        response = self.workspace.admin.put(f"{self.workspace.agents}/{self.agent}", json=servers)
        assert response.status_code == 200, response.text

    def connect(self) -> None:
        """As a person would, with a browser."""
        plugboard = self.workspace.plugboard
        body = _read(self.workspace.admin.get(f"{self.workspace.servers}/{self.server}/oauth/authorize"))
        browser = Browser(plugboard.settings.public_url, plugboard.url)
        assert browser.connect(body["authUrl"]) == {"connected": self.server}

    def change(self, **fields: Any) -> None:
        response = self.workspace.admin.put(f"{self.workspace.servers}/{self.server}", json=fields)
        assert response.status_code == 200, response.text

    def name(self, tool: str) -> str:
        return f"{tool}_{self.slug}"

    def call(self, tool: str, **args: Any) -> Json:
        """The whole answer, whatever came of it; one that is no failure keeps what the tool promises."""
        body = {"toolName": self.name(tool), "args": args}
        called: Json = _read(self.workspace.admin.post(f"{self.workspace.agents}/{self.agent}/tool-calls", json=body))
        if not called["isError"]:
            self._output_validator(tool).validate(called["structuredContent"])
        return called

    def call_concurrently(self, calls: Mapping[str, Json]) -> dict[str, Json]:
        """What comes of calls, by tool, that are under way at the same time: so they wait only once."""
        with ThreadPoolExecutor(len(calls)) as threads:
            called = threads.map(lambda tool: self.call(tool, **calls[tool]), calls)
            return dict(zip(calls, called, strict=True))

    def result(self, tool: str, **args: Any) -> Json:
        """What is structured of an answer that is no failure."""
        result = self.call(tool, **args)
        assert result["isError"] is False, result["text"]
        structured: Json = result["structuredContent"]
        return structured

    def failure(self, tool: str, kind: str, **args: Any) -> Json:
        result = self.call(tool, **args)
        assert result["isError"] is True, result["text"]
        assert result["error"]["kind"] == kind, result
        return result

    def list_tools(self) -> dict[str, Json]:
        """The agent's tools, by name."""
        tools = _read(self.workspace.admin.get(f"{self.workspace.agents}/{self.agent}/tools"))["tools"]
        return {tool["name"]: tool for tool in tools}

    def _output_validator(self, tool: str) -> jsonschema_rs.Validator:
        if tool not in OUTPUT_VALIDATORS:
            OUTPUT_VALIDATORS[tool] = jsonschema_rs.validator_for(self.list_tools()[self.name(tool)]["outputSchema"])
        return OUTPUT_VALIDATORS[tool]


@dataclass(frozen=True)
class ConnectedService:
    """A service with what is behind it. Each service says the rest."""

    tools: ServiceTools
    tenant: Tenant
    fake: Any
    scopes: tuple[str, ...] = ()
    """Of its token, if it has one."""

    service: ClassVar[str]
    contract: ClassVar[Contract]
    fields: ClassVar[Json] = {}
    """Of the server, where they are not those of an OAuth server."""
    cursor_parameter: ClassVar[str]
    """The parameter for the `nextCursor` of the page before."""
    first_cursor: ClassVar[str | None] = None
    """What that is without a page before."""
    root: ClassVar[str] = ""
    """The common prefix of the vendor's paths, which texts omit."""
    identity_path: ClassVar[str] = ""
    """What is asked to learn who we are, and tells nothing of a tool."""

    def play(self, tool: str, **args: Any) -> str:
        """What was asked, and what a model reads."""
        return self.scene(args, self.tools.call(tool, **args))

    def scene(self, args: Json, result: Json) -> str:
        error = result.get("error")
        kind = f"\n[{' '.join(map(str, error.values()))}]" if error else ""
        return self.readable(f"> {json.dumps(args, ensure_ascii=False)}{kind}\n\n{result['text']}\n")

    def readable(self, scene: str) -> str:
        """The same in each run."""
        return scene

    def text(self, tool: str, **args: Any) -> str:
        result = self.tools.call(tool, **args)
        assert result["isError"] is False, result["text"]
        text: str = result["text"]
        return text

    def failure_text(self, tool: str, kind: str, **args: Any) -> str:
        text: str = self.tools.failure(tool, kind, **args)["text"]
        return text

    def pages(self, tool: str, going_on: str = "", **args: Any) -> list[Json]:
        """The structured answers, to the last."""
        going_on = going_on or self.cursor_parameter
        result, cursor = list[Json](), self.first_cursor
        while True:
            called = self.tools.call(tool, **args, **{going_on: cursor})
            assert called["isError"] is False, called["text"]
            assert len(called["text"]) < MAX_TEXT
            assert CUT_NOTE not in called["text"], "nothing is to be cut by others"
            page = called["structuredContent"]
            assert page.get("hasMore", "nextCursor" in page) is ("nextCursor" in page)
            result.append(page)
            if "nextCursor" not in page:
                return result
            cursor = page["nextCursor"]

    def all_items(self, tool: str, what: str, **args: Any) -> list[Json]:
        """All there is, of all pages."""
        return [item for page in self.pages(tool, **args) for item in page[what]]

    def requests(self) -> list[str]:
        """Without what it takes to learn who we are."""
        seen = [
            f"{request.method} {request.path.removeprefix(self.root)}" for request in self.tenant.requests_to("api")
        ]
        return [item for item in seen if not self.identity_path or self.identity_path not in item]

    def grant_scopes(self, *rights: str) -> None:
        """From now on the token has these."""
        self.tenant.families[-1].scopes = rights

    def restore(self) -> None:
        """All is well again, after something was not."""
        self.tenant.clear_faults()
        if self.scopes:
            self.grant_scopes(*self.scopes)

    def revoke(self) -> None:
        """Revokes the credential at the vendor."""
        self.tenant.revoke_grants()

    def reconnect(self) -> None:
        self.tools.connect()

    def disconnect(self) -> None:
        """For a service that needs no person to connect it, so that it is connected as soon as it is there."""

    def writes_done(self) -> int:
        """How many writes were carried out."""
        return 0

    def check(self, *, strict: bool) -> None:
        """`strict`: the contract knows all that is sent."""
        assert (
            not strict
            or [why for request in self.tenant.requests_to("api") for why in self.contract.objections(request)] == []
        )


C = TypeVar("C", bound=ConnectedService)


@contextmanager
def connected(
    kind: type[C],
    plugboard: Plugboard,
    provider: OAuthProvider,
    *,
    connect: bool = True,
    strict: bool = True,
    **fields: Any,
) -> Iterator[C]:
    """What is sent meanwhile is held to the vendor's contract."""
    tenant, world = provider.tenant(kind.service), provider.fake(kind.service)
    desk = ServiceTools.of(plugboard, kind.service, connect=connect, **{**kind.fields, **fields})
    result = kind(desk, tenant, world, tenant.families[-1].scopes if tenant.families else ())
    if not connect:
        result.disconnect()
    yield result
    result.check(strict=strict)


def assert_approved(service: str, tool: str, scenes: Mapping[str, str]) -> None:
    """They are what a person has read. `PLUGBOARD_APPROVE=1` writes them anew, for a person to read.

    `tool` may have a second word, after a dot, for what is told of it elsewhere.
    """
    path = SNAPSHOTS / service / f"{tool}.txt"
    text = f"{tool}\n\n" + "\n".join(f"{'=' * 8} {title}\n{scene}" for title, scene in scenes.items())
    if os.environ.get("PLUGBOARD_APPROVE") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is not there: write it with PLUGBOARD_APPROVE=1, and read it"
    before = path.read_text(encoding="utf-8")
    assert text == before, "\n".join(unified_diff(before.splitlines(), text.splitlines(), "approved", "told", n=1))


def approved_scenes(service: str, tool: str) -> list[tuple[str, str]]:
    """The scenes that a person has read: their titles, and the kind of failure, if it is one."""
    path = SNAPSHOTS / service / f"{tool}.txt"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return re.findall(r"^={8} (.+)\n> .*\n(?:\[(\w+).*\]\n)?\n", text, re.MULTILINE)


def _server(workspace: Workspace, service: str, fields: Json) -> Json:
    usual: Json = {"name": "Acme", "serviceType": service, "authType": "oauth", "url": None, "config": {}}
    return workspace.make_server(**{**usual, **fields})


def _read(response: Any) -> Any:
    assert response.status_code == 200, response.text
    return response.json()
