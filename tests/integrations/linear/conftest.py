from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from demo.oauth_provider.server import OAuthProvider, oauth_provider
from demo.services.linear.fake import FakeLinear
from integrations.linear.client import LinearApi
from integrations.linear.tools import TOOLS
from tests.fakes.authorization_client import app_of
from tests.integrations.fake_vendor_port import FakeVendorPort

BY_NAME = {tool.name.removeprefix("linear_"): tool for tool in TOOLS}


@dataclass
class Linear:
    fake: FakeLinear
    port: FakeVendorPort[LinearApi]

    async def call(self, tool: str, **args: Any) -> Any:
        return await self.port.call(BY_NAME[tool], **args)

    async def notes(self, tool: str, **args: Any) -> list[str]:
        result: list[str] = (await self.call(tool, **args)).notes
        return result


@pytest.fixture(scope="session")
def linears_server() -> Iterator[OAuthProvider]:
    with oauth_provider() as server:
        yield server


@pytest.fixture
def linear(linears_server: OAuthProvider) -> Linear:
    linears_server.reset()
    token = app_of(linears_server, "linear").connect()["access_token"]
    world = linears_server.fake("linear")
    assert isinstance(world, FakeLinear)
    return Linear(world, FakeVendorPort(LinearApi, linears_server.url("/linear"), token))
