"""A Notion workspace behind a server, and the requests that reach it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial

from demo.services.notion.fake import World
from tests.toolkits.connected_service import Connected, connected
from tests.toolkits.contract import Json
from tests.toolkits.notion import notion_contract

READ, SEARCH, CREATE, UPDATE = "notion_read", "notion_search", "notion_create", "notion_update"
QUERY, APPEND = "notion_query_database", "notion_append_blocks"
CREATE_ROW, UPDATE_ROW = "notion_create_database_page", "notion_update_database_page"


@dataclass(frozen=True)
class Notion(Connected):
    world: World

    service = "notion"
    contract = notion_contract.CONTRACT
    going_on = "startCursor"
    root = "/notion/v1"
    besides = "/users/me"

    def sent(self, path: str) -> list[Json]:
        """The bodies of the requests there, of those that have one."""
        there = [each for each in self.tenant.asked("api") if each.path == f"/notion/v1{path}"]
        return [json.loads(each.body) for each in there if each.body]

    def mend(self) -> None:
        super().mend()
        self.world.capabilities |= {"read", "insert", "update", "users"}

    def done(self) -> int:
        return len(self.world.done)


connected_notion = partial(connected, Notion)
