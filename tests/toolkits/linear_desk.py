"""A workspace with a connected Linear, and the Linear behind it; what is sent there is held to contract."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.fakes.authorization_server import Server, Tenant
from tests.fakes.linear_world import World
from tests.harness import Plugboard
from tests.toolkits.desk import Json, ToolDesk, approve
from tests.toolkits.linear_contract import objections

TEAMS, PROJECTS, ISSUES = "linear_list_teams", "linear_list_projects", "linear_list_issues"
ISSUE, SEARCH = "linear_get_issue", "linear_search_issues"


@dataclass(frozen=True)
class Linear:
    desk: ToolDesk
    tenant: Tenant
    world: World

    def told(self, tool: str, **args: Any) -> str:
        """What was asked, and what a model reads."""
        called = self.desk.call(tool, **args)
        error = called.get("error")
        kind = f"\n[{error['kind']}]" if error else ""
        return f"> {json.dumps(args, ensure_ascii=False)}{kind}\n\n{_timeless(called['text'])}\n"

    def identifiers(self, tool: str = ISSUES, **args: Any) -> list[str]:
        return [each["identifier"] for each in self.desk.found(tool, **args)["issues"]]

    def paged(self, tool: str, what: str, **args: Any) -> list[Json]:
        """All pages, to the last."""
        found, after = list[Json](), ""
        while True:
            page = self.desk.found(tool, **args, after=after)
            found += page[what]
            assert page["hasMore"] is ("nextCursor" in page)
            after = page.get("nextCursor", "")
            if not after:
                return found

    def sent(self) -> list[Json]:
        """The queries of the tools, without what it takes to connect."""
        bodies = [json.loads(each.body) for each in self.tenant.asked("api")]
        return [each for each in bodies if each["query"].startswith("query ")]

    def variables(self) -> Json:
        """Of the query that was sent last."""
        found: Json = self.sent()[-1]["variables"]
        return found


def approved(tool: str, scenes: dict[str, str]) -> None:
    told = [f"{'=' * 8} {title}\n{text}" for title, text in scenes.items()]
    approve("linear", tool, f"{tool}\n\n" + "\n".join(told))


@contextmanager
def connected_linear(
    plugboard: Plugboard, provider: Server, *, connect: bool = True, **fields: Any
) -> Iterator[Linear]:
    tenant, world = provider.tenant("linear"), provider.world("linear")
    assert isinstance(world, World)
    yield Linear(ToolDesk.of(plugboard, "linear", connect=connect, **fields), tenant, world)
    assert world.not_reads == []
    assert [why for each in tenant.asked("api") for why in objections(each)] == []
    assert all(each < 10_000 / 2 for each in world.costs), "the largest is to stay far from what Linear allows"


def _timeless(text: str) -> str:
    """Without how long to wait: that depends on when in a second it was asked."""
    return re.sub(r"Try again in [0-9]+ s", "Try again in … s", text)
