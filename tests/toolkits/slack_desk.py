"""A workspace with a connected Slack, and the Slack that it is connected to; what is sent there is held to contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.fakes.authorization_server import Fault, Server, Tenant
from tests.fakes.authorization_tenant import Seen
from tests.fakes.slack_world import World
from tests.harness import Plugboard
from tests.toolkits.desk import ToolDesk, approve
from tests.toolkits.slack_contract import objections

PASSES = Fault("slow", seconds=0)
LIST, READ, POST = "slack_list_channels", "slack_get_channel_history", "slack_post_message"


@dataclass(frozen=True)
class Slack:
    desk: ToolDesk
    tenant: Tenant
    world: World

    def told(self, tool: str, **args: Any) -> str:
        """What was asked, and what a model reads."""
        called = self.desk.call(tool, **args)
        error = called.get("error")
        kind = f"\n[{' '.join(map(str, error.values()))}]" if error else ""
        return f"{self.desk.name(tool)} {json.dumps(args)}{kind}\n\n{called['text']}\n"

    def approve(self, tool: str, case: str, *told: str) -> None:
        approve("slack", f"{tool.removeprefix('slack_')}/{case}", "\n".join(told))

    def second(self, fault: Fault) -> None:
        """What happens to the request after that for who we are, with which each call begins."""
        self.tenant.fault("api", PASSES)
        self.tenant.fault("api", fault)

    def asked(self, method: str) -> list[Seen]:
        return [each for each in self.tenant.asked("api") if each.path == f"/slack/api/{method}"]

    def methods(self) -> list[str]:
        return [each.path.rpartition("/")[2] for each in self.tenant.asked("api")]

    def grant(self, *rights: str) -> None:
        """From now on the token has these."""
        self.tenant.families[0].scopes = rights


@contextmanager
def connected_slack(
    plugboard: Plugboard, provider: Server, *, connect: bool = True, rotates: bool = False
) -> Iterator[Slack]:
    tenant, world = provider.tenant("slack"), provider.world("slack")
    assert isinstance(world, World)
    if rotates:
        tenant.behave(gives_refresh=True, access_life=43200.0, expires_in=43200.0)
    yield Slack(ToolDesk.of(plugboard, "slack", connect=connect), tenant, world)
    found = [why for each in tenant.asked("api") for why in objections(each)]
    assert found == []
