"""A Notion workspace behind a server, and the requests that reach it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial

from demo.services.notion.fake import FakeNotion
from tests.toolkits.connected_service import ConnectedService, connected
from tests.toolkits.contract import Json
from tests.toolkits.notion import notion_contract

READ, SEARCH, CREATE, UPDATE = "notion_read", "notion_search", "notion_create", "notion_update"
QUERY, APPEND = "notion_query_database", "notion_append_blocks"
CREATE_ROW, UPDATE_ROW = "notion_create_database_page", "notion_update_database_page"


@dataclass(frozen=True)
class Notion(ConnectedService):
    fake: FakeNotion

    service = "notion"
    contract = notion_contract.CONTRACT
    cursor_parameter = "startCursor"
    root = "/notion/v1"
    identity_path = "/users/me"

    def bodies_sent(self, path: str) -> list[Json]:
        """The bodies of the requests there, of those that have one."""
        there = [request for request in self.tenant.requests_to("api") if request.path == f"/notion/v1{path}"]
        return [json.loads(record.body) for record in there if record.body]

    def restore(self) -> None:
        super().restore()
        self.fake.capabilities |= {"read", "insert", "update", "users"}

    def writes_done(self) -> int:
        return len(self.fake.writes_done)


connected_notion = partial(connected, Notion)
