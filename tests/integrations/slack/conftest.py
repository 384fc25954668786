import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from demo.oauth_provider.server import OAuthProvider, oauth_provider
from demo.services.slack.fake import FakeSlack
from integrations.slack.client import SlackApi
from integrations.slack.tools import TOOLS
from integrations.tool import Result
from tests.fakes.authorization_client import app_of
from tests.integrations.fake_vendor_port import FakeVendorPort

BY_NAME = {tool.name.removeprefix("slack_"): tool for tool in TOOLS}
SCOPES = ("channels:read", "channels:history", "groups:read", "groups:history", "chat:write", "users:read")


@dataclass
class Slack:
    server: OAuthProvider
    fake: FakeSlack
    port: FakeVendorPort[SlackApi]

    async def call(self, tool: str, **args: Any) -> Result:
        return await self.port.call(BY_NAME[tool], **args)

    async def read(self, **args: Any) -> Any:
        return await self.call("get_channel_history", **args)

    async def post(self, **args: Any) -> Any:
        return await self.call("post_message", **args)

    def now(self) -> float:
        """What time it is where the fake is."""
        return time.time()

    def queries_of(self, method: str) -> list[dict[str, str]]:
        return [
            request.query for request in self.server.tenant("slack").requests_to("api") if request.path.endswith(method)
        ]


@pytest.fixture(scope="session")
def slacks_server() -> Iterator[OAuthProvider]:
    with oauth_provider() as server:
        yield server


@pytest.fixture
def slack(slacks_server: OAuthProvider) -> Slack:
    slacks_server.reset()
    token = app_of(slacks_server, "slack").connect()["access_token"]
    slacks_server.tenant("slack").families[0].scopes = SCOPES
    world = slacks_server.fake("slack")
    assert isinstance(world, FakeSlack)
    return Slack(slacks_server, world, FakeVendorPort(SlackApi, slacks_server.url("/slack"), token))
