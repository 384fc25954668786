"""A PostHog organization behind a server, and requests that are never sent to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from demo.services.posthog.fake import Key, World
from tests.toolkits.connected_service import Connected, connected
from tests.toolkits.contract import Json
from tests.toolkits.posthog import posthog_contract

US, EU = "https://us.posthog.com", "https://eu.posthog.com"
KEY = "phx_demo"


@dataclass(frozen=True)
class PostHog(Connected):
    world: World

    service = "posthog"
    contract = posthog_contract.CONTRACT
    fields: ClassVar[Json] = {"authType": "header", "url": US, "config": {"apiKey": KEY}}
    going_on = "offset"
    root = "/posthog"

    @property
    def origin(self) -> str:
        """Of the fake; a person reads PostHog's own."""
        return f"{self.tenant.origin}/posthog"

    def readable(self, scene: str) -> str:
        return scene.replace(self.origin, US)

    def mend(self) -> None:
        super().mend()
        self.world.keys[KEY] = Key()

    def end(self) -> None:
        del self.world.keys[KEY]

    def begin_anew(self) -> None:
        self.desk.change(config={"apiKey": KEY})

    def disconnect(self) -> None:
        """A key is not sent to another place than it was entered for."""
        self.desk.change(url=EU)

    def check(self, *, strict: bool) -> None:
        super().check(strict=strict)
        assert self.world.writes == []


connected_posthog = partial(connected, PostHog)
