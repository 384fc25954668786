from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from demo.oauth_provider.server import Server, authorization_server
from demo.services.linear.fake import World
from integrations.linear.client import LinearApi
from integrations.linear.tools import TOOLS
from tests.fakes.authorization_client import app_of
from tests.integrations.fake_vendor_port import Wired

BY_NAME = {tool.name.removeprefix("linear_"): tool for tool in TOOLS}


@dataclass
class Linear:
    world: World
    wired: Wired[LinearApi]

    async def call(self, tool: str, **args: Any) -> Any:
        return await self.wired.call(BY_NAME[tool], **args)

    async def notes(self, tool: str, **args: Any) -> list[str]:
        found: list[str] = (await self.call(tool, **args)).notes
        return found


@pytest.fixture(scope="session")
def linears_server() -> Iterator[Server]:
    with authorization_server() as server:
        yield server


@pytest.fixture
def linear(linears_server: Server) -> Linear:
    linears_server.reset()
    token = app_of(linears_server, "linear").connect()["access_token"]
    world = linears_server.world("linear")
    assert isinstance(world, World)
    return Linear(world, Wired(LinearApi, linears_server.url("/linear"), token))
