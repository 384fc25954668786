"""A fake Slack workspace behind a server, and the requests that it received."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from demo.oauth_provider.server import Fault
from demo.oauth_provider.tenant import Seen
from demo.services.slack.fake import World
from tests.toolkits.connected_service import Connected, connected
from tests.toolkits.slack import slack_contract

PASSES = Fault("slow", seconds=0)
LIST, READ, POST = "slack_list_channels", "slack_get_channel_history", "slack_post_message"


@dataclass(frozen=True)
class Slack(Connected):
    world: World

    service = "slack"
    contract = slack_contract.CONTRACT
    going_on = "cursor"
    root = "/slack/api/"

    def second(self, fault: Fault) -> None:
        """What happens to the request after that for who we are, with which each call begins."""
        self.tenant.fault("api", PASSES)
        self.tenant.fault("api", fault)

    def calls(self, method: str) -> list[Seen]:
        return [each for each in self.tenant.asked("api") if each.path == f"/slack/api/{method}"]

    def methods(self) -> list[str]:
        return [each.path.rpartition("/")[2] for each in self.tenant.asked("api")]

    def done(self) -> int:
        return len(self.world.posted)


connected_slack = partial(connected, Slack)
