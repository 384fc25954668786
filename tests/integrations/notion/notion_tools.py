"""Calls of single tools of Notion against the fake, over HTTP."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from demo.oauth_provider.server import OAuthProvider, Tenant
from demo.services.notion.fake import FakeNotion
from integrations.notion.client import NotionClient
from integrations.notion.tools import TOOLS
from integrations.service_client import ToolFailed
from integrations.tool import Result
from tests.fakes.authorization_client import app_of
from tests.integrations.fake_vendor_port import FakeVendorPort

Json = dict[str, Any]
READ, SEARCH, CREATE, UPDATE = "notion_read", "notion_search", "notion_create", "notion_update"
QUERY, APPEND = "notion_query_database", "notion_append_blocks"
CREATE_ROW, UPDATE_ROW = "notion_create_database_page", "notion_update_database_page"


@dataclass(frozen=True)
class NotionTools:
    server: OAuthProvider
    token: str

    @classmethod
    def of(cls, server: OAuthProvider) -> NotionTools:
        return cls(server, app_of(server, "notion").connect()["access_token"])

    @property
    def fake(self) -> FakeNotion:
        world = self.server.fake("notion")
        assert isinstance(world, FakeNotion)
        return world

    @property
    def tenant(self) -> Tenant:
        return self.server.tenant("notion")

    def call(self, tool: str, **args: Any) -> Result:
        match = next(each for each in TOOLS if each.name == tool)
        return asyncio.run(FakeVendorPort(NotionClient, self.server.url("/notion"), self.token).call(match, **args))

    def structured(self, tool: str, **args: Any) -> Json:
        return self.call(tool, **args).structured()

    def text(self, tool: str, **args: Any) -> str:
        return self.call(tool, **args).text()

    def failure_text(self, tool: str, kind: str = "invalid_arguments", **args: Any) -> str:
        with pytest.raises(ToolFailed) as raised:
            self.call(tool, **args)
        assert raised.value.kind == kind, raised.value.text
        return raised.value.text

    def bodies_sent(self, path: str) -> list[Json]:
        """The bodies of the requests there."""
        there = [request for request in self.tenant.requests_to("api") if request.path == f"/notion/v1{path}"]
        return [json.loads(record.body) for record in there if record.body]


def problems(tool: str, **args: Any) -> list[str]:
    """The errors about invalid arguments."""
    result = next(each for each in TOOLS if each.name == tool).parse(args)
    assert isinstance(result, list), result
    return result
