"""A HubSpot account behind a server, and requests that are never sent to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from demo.services.hubspot.fake import FakeHubSpot
from tests.toolkits.connected_service import ConnectedService, connected
from tests.toolkits.hubspot import hubspot_contract


@dataclass(frozen=True)
class HubSpot(ConnectedService):
    fake: FakeHubSpot

    service = "hubspot"
    contract = hubspot_contract.CONTRACT
    cursor_parameter = "after"
    first_cursor = ""
    root = "/hubspot"
    identity_path = "/account-info/"

    def restore(self) -> None:
        super().restore()
        self.fake.hidden_path = ""

    def check(self, *, strict: bool) -> None:
        super().check(strict=strict)
        assert self.fake.writes == []


connected_hubspot = partial(connected, HubSpot)
