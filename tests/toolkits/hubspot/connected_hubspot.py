"""A HubSpot account behind a server, and requests that are never sent to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from demo.services.hubspot.fake import World
from tests.toolkits.connected_service import Connected, connected
from tests.toolkits.hubspot import hubspot_contract


@dataclass(frozen=True)
class HubSpot(Connected):
    world: World

    service = "hubspot"
    contract = hubspot_contract.CONTRACT
    going_on = "after"
    at_first = ""
    root = "/hubspot"
    besides = "/account-info/"

    def mend(self) -> None:
        super().mend()
        self.world.hidden = ""

    def check(self, *, strict: bool) -> None:
        super().check(strict=strict)
        assert self.world.writes == []


connected_hubspot = partial(connected, HubSpot)
