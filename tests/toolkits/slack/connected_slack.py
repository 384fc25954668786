"""A fake Slack workspace behind a server, and the requests that it received."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from demo.oauth_provider.server import Fault
from demo.oauth_provider.tenant import RecordedRequest
from demo.services.slack.fake import FakeSlack
from tests.toolkits.connected_service import ConnectedService, connected
from tests.toolkits.slack import slack_contract

PASSES = Fault("slow", seconds=0)
LIST, READ, POST = "slack_list_channels", "slack_get_channel_history", "slack_post_message"


@dataclass(frozen=True)
class Slack(ConnectedService):
    fake: FakeSlack

    service = "slack"
    contract = slack_contract.CONTRACT
    cursor_parameter = "cursor"
    root = "/slack/api/"

    def inject_fault_after_identity(self, fault: Fault) -> None:
        """What happens to the request after that for who we are, with which each call begins."""
        self.tenant.inject_fault("api", PASSES)
        self.tenant.inject_fault("api", fault)

    def requests_of(self, method: str) -> list[RecordedRequest]:
        return [request for request in self.tenant.requests_to("api") if request.path == f"/slack/api/{method}"]

    def methods(self) -> list[str]:
        return [request.path.rpartition("/")[2] for request in self.tenant.requests_to("api")]

    def writes_done(self) -> int:
        return len(self.fake.posted)


connected_slack = partial(connected, Slack)
