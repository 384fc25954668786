"""A workspace with a connected HubSpot, and the account behind it; what is sent there is held to contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.fakes.authorization_server import Server, Tenant
from tests.fakes.hubspot_world import World
from tests.harness import Plugboard
from tests.toolkits.desk import Json, ToolDesk, approve
from tests.toolkits.hubspot_contract import objections


@dataclass(frozen=True)
class HubSpot:
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

    def paged(self, tool: str, what: str, **args: Any) -> list[Json]:
        """All pages, to the last."""
        found, cursor = list[Json](), ""
        while True:
            page = self.desk.found(tool, **args, after=cursor)
            found += page[what]
            cursor = page.get("nextCursor", "")
            if not cursor:
                return found

    def asked(self) -> list[str]:
        """Without what it takes to connect."""
        seen = [f"{each.method} {each.path.removeprefix('/hubspot')}" for each in self.tenant.asked("api")]
        return [each for each in seen if "/account-info/" not in each]

    def grant(self, *scopes: str) -> None:
        """From now on the token has these."""
        self.tenant.families[-1].scopes = scopes


def approved(tool: str, scenes: dict[str, str]) -> None:
    told = [f"{'=' * 8} {title}\n{text}" for title, text in scenes.items()]
    approve("hubspot", tool, f"{tool}\n\n" + "\n".join(told))


@contextmanager
def connected_hubspot(
    plugboard: Plugboard, provider: Server, *, connect: bool = True, **fields: Any
) -> Iterator[HubSpot]:
    tenant, world = provider.tenant("hubspot"), provider.world("hubspot")
    assert isinstance(world, World)
    yield HubSpot(ToolDesk.of(plugboard, "hubspot", connect=connect, **fields), tenant, world)
    assert world.writes == []
    assert [why for each in tenant.asked("api") for why in objections(each)] == []
