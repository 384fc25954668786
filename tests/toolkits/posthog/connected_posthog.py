"""A PostHog organization behind a server, and requests that are never sent to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from demo.services.posthog.fake import ApiKey, FakePostHog
from tests.toolkits.connected_service import ConnectedService, connected
from tests.toolkits.contract import Json
from tests.toolkits.posthog import posthog_contract

US, EU = "https://us.posthog.com", "https://eu.posthog.com"
KEY = "phx_demo"


@dataclass(frozen=True)
class PostHog(ConnectedService):
    fake: FakePostHog

    service = "posthog"
    contract = posthog_contract.CONTRACT
    fields: ClassVar[Json] = {"authType": "header", "url": US, "config": {"apiKey": KEY}}
    cursor_parameter = "offset"
    root = "/posthog"

    @property
    def origin(self) -> str:
        """Of the fake; a person reads PostHog's own."""
        return f"{self.tenant.origin}/posthog"

    def readable(self, scene: str) -> str:
        return scene.replace(self.origin, US)

    def restore(self) -> None:
        super().restore()
        self.fake.keys[KEY] = ApiKey()

    def revoke(self) -> None:
        del self.fake.keys[KEY]

    def reconnect(self) -> None:
        self.tools.change(config={"apiKey": KEY})

    def disconnect(self) -> None:
        """A key is not sent to another place than it was entered for."""
        self.tools.change(url=EU)

    def check(self, *, strict: bool) -> None:
        super().check(strict=strict)
        assert self.fake.writes == []


connected_posthog = partial(connected, PostHog)
