"""A workspace with a PostHog server, and the company behind it; what is sent there is held to contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.fakes.authorization_server import Server, Tenant
from tests.fakes.posthog_world import World
from tests.harness import Plugboard
from tests.toolkits.desk import Json, ToolDesk, approve
from tests.toolkits.posthog_contract import objections

US = "https://us.posthog.com"


@dataclass(frozen=True)
class PostHog:
    desk: ToolDesk
    tenant: Tenant
    world: World
    origin: str
    """Of the fake; a person reads PostHog's own."""

    def told(self, tool: str, **args: Any) -> str:
        """What was asked, and what a model reads."""
        called = self.desk.call(tool, **args)
        error = called.get("error")
        kind = f"\n[{' '.join(map(str, error.values()))}]" if error else ""
        return f"> {json.dumps(args, ensure_ascii=False)}{kind}\n\n{called['text'].replace(self.origin, US)}\n"

    def pages(self, tool: str, *, going_on: str = "offset", **args: Any) -> list[list[Json]]:
        """All of them, to the last."""
        found, cursor = list[list[Json]](), None
        while True:
            more = {} if cursor is None else {going_on: cursor}
            page = self.desk.found(tool, **args, **more)
            found.append(page["results"])
            cursor = page.get("nextCursor")
            if cursor is None:
                return found

    def asked(self) -> list[str]:
        return [f"{each.method} {each.path.removeprefix('/posthog')}" for each in self.tenant.asked("api")]


def approved(tool: str, scenes: dict[str, str]) -> None:
    told = [f"{'=' * 8} {title}\n{text}" for title, text in scenes.items()]
    approve("posthog", tool, f"{tool}\n\n" + "\n".join(told))


@contextmanager
def connected_posthog(
    plugboard: Plugboard, provider: Server, *, key: str = "phx_demo", strict: bool = True, **fields: Any
) -> Iterator[PostHog]:
    """`strict`: all that is sent is in the contract, which does not know everything that posthog_get may read."""
    tenant, world = provider.tenant("posthog"), provider.world("posthog")
    assert isinstance(world, World)
    usual = {"authType": "header", "url": US, "config": {"apiKey": key}}
    desk = ToolDesk.of(plugboard, "posthog", connect=False, **{**usual, **fields})
    yield PostHog(desk, tenant, world, provider.url("/posthog"))
    assert world.writes == []
    assert not strict or [why for each in tenant.asked("api") for why in objections(each)] == []
