"""A workspace with a connected Notion, and the Notion that it is connected to; all that is sent is held to contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.fakes.authorization_server import Server, Tenant
from tests.fakes.notion_world import World
from tests.harness import Plugboard
from tests.toolkits.desk import Json, ToolDesk, approve
from tests.toolkits.notion_contract import objections

READ, SEARCH, CREATE, UPDATE = "notion_read", "notion_search", "notion_create", "notion_update"
QUERY, APPEND = "notion_query_database", "notion_append_blocks"
CREATE_ROW, UPDATE_ROW = "notion_create_database_page", "notion_update_database_page"


@dataclass(frozen=True)
class Notion:
    desk: ToolDesk
    tenant: Tenant
    world: World

    def told(self, tool: str, **args: Any) -> str:
        """What was asked, and what a model reads."""
        called = self.desk.call(tool, **args)
        error = called.get("error")
        kind = f"\n[{' '.join(map(str, error.values()))}]" if error else ""
        return f"> {json.dumps(args, ensure_ascii=False)}{kind}\n\n{called['text']}\n"

    def text(self, tool: str, **args: Any) -> str:
        called = self.desk.call(tool, **args)
        assert called["isError"] is False, called["text"]
        told: str = called["text"]
        return told

    def refused(self, tool: str, kind: str, **args: Any) -> str:
        told: str = self.desk.failed(tool, kind, **args)["text"]
        return told

    def paged(self, tool: str, **args: Any) -> list[Json]:
        """The structured answers, to the last."""
        found, cursor = list[Json](), None
        while True:
            page = self.desk.found(tool, **args, startCursor=cursor)
            found.append(page)
            cursor = page.get("nextCursor")
            if cursor is None:
                return found

    def asked(self) -> list[str]:
        """The requests, without the one for who we are."""
        seen = [f"{each.method} {each.path.removeprefix('/notion/v1')}" for each in self.tenant.asked("api")]
        return [each for each in seen if not each.endswith("/users/me")]

    def sent(self, path: str) -> list[Json]:
        """The bodies of the requests there, of those that have one."""
        there = [each for each in self.tenant.asked("api") if each.path == f"/notion/v1{path}"]
        return [json.loads(each.body) for each in there if each.body]


def approved(name: str, scenes: dict[str, str]) -> None:
    told = [f"{'=' * 8} {title}\n{text}" for title, text in scenes.items()]
    approve("notion", name, "\n".join(told))


@contextmanager
def connected_notion(
    plugboard: Plugboard, provider: Server, *, connect: bool = True, **fields: Any
) -> Iterator[Notion]:
    tenant, world = provider.tenant("notion"), provider.world("notion")
    assert isinstance(world, World)
    yield Notion(ToolDesk.of(plugboard, "notion", connect=connect, **fields), tenant, world)
    assert [why for each in tenant.asked("api") for why in objections(each)] == []
