"""Calls of single tools of Notion against the fake, over HTTP."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from demo.oauth_provider.server import Server, Tenant
from demo.services.notion.fake import World
from integrations.notion.client import NotionClient
from integrations.notion.tools import TOOLS
from integrations.service_client import ToolFailed
from integrations.tool import Result
from tests.fakes.authorization_client import app_of
from tests.integrations.fake_vendor_port import Wired

Json = dict[str, Any]
READ, SEARCH, CREATE, UPDATE = "notion_read", "notion_search", "notion_create", "notion_update"
QUERY, APPEND = "notion_query_database", "notion_append_blocks"
CREATE_ROW, UPDATE_ROW = "notion_create_database_page", "notion_update_database_page"


@dataclass(frozen=True)
class AtHand:
    server: Server
    token: str

    @classmethod
    def of(cls, server: Server) -> AtHand:
        return cls(server, app_of(server, "notion").connect()["access_token"])

    @property
    def world(self) -> World:
        world = self.server.world("notion")
        assert isinstance(world, World)
        return world

    @property
    def tenant(self) -> Tenant:
        return self.server.tenant("notion")

    def ask(self, tool: str, **args: Any) -> Result:
        found = next(each for each in TOOLS if each.name == tool)
        return asyncio.run(Wired(NotionClient, self.server.url("/notion"), self.token).call(found, **args))

    def found(self, tool: str, **args: Any) -> Json:
        return self.ask(tool, **args).structured()

    def text(self, tool: str, **args: Any) -> str:
        return self.ask(tool, **args).text()

    def refused(self, tool: str, kind: str = "invalid_arguments", **args: Any) -> str:
        with pytest.raises(ToolFailed) as refused:
            self.ask(tool, **args)
        assert refused.value.kind == kind, refused.value.text
        return refused.value.text

    def sent(self, path: str) -> list[Json]:
        """The bodies of the requests there."""
        there = [each for each in self.tenant.asked("api") if each.path == f"/notion/v1{path}"]
        return [json.loads(each.body) for each in there if each.body]


def problems(tool: str, **args: Any) -> list[str]:
    """What is told of arguments that do not fit."""
    found = next(each for each in TOOLS if each.name == tool).parse(args)
    assert isinstance(found, list), found
    return found
