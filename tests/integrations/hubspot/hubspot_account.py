"""A HubSpot account that tools call without a network: the fake one, or responses that a test defines."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

import pytest

from demo.oauth_provider.http import Request
from demo.oauth_provider.model import Client
from demo.oauth_provider.tenant import Tenant
from demo.services.hubspot.fake import World
from integrations.hubspot.client import HubSpotApi
from integrations.service_client import ToolFailed
from integrations.tool import Params, Result, ServiceTool
from tests.integrations.scripted_http import Lasting, Scripted, Written

ORIGIN = "https://api.hubapi.com"
KINDS = ("contacts", "companies", "deals", "owners")


class Account(Lasting):
    def __init__(self) -> None:
        self.tenant = Tenant("hubspot", ORIGIN, threading.RLock())
        self.world = World(self.tenant)
        scopes = tuple(f"crm.objects.{kind}.read" for kind in KINDS)
        self._token = self.tenant.grants.for_client(Client("app"), scopes, None).access.text
        self.asked: list[str] = []

    async def found(self, tool: ServiceTool, **args: Any) -> Result:
        asked = tool.parse(args)
        assert isinstance(asked, Params), asked
        return await tool.run(HubSpotApi(self, ORIGIN, _at_once, title="HubSpot"), asked)

    async def ids(self, tool: ServiceTool, **args: Any) -> list[str]:
        return [each["id"] for each in (await self.found(tool, **args)).structured()["records"]]

    async def failed(self, tool: ServiceTool, **args: Any) -> ToolFailed:
        with pytest.raises(ToolFailed) as raised:
            await self.found(tool, **args)
        return raised.value

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        lasting: bool = False,  # noqa: ARG002  the port is like that
    ) -> AsyncIterator[Written]:
        path, _, query = url.removeprefix(ORIGIN).partition("?")
        self.asked.append(f"{method} {path}")
        sent = {name.lower(): value for name, value in headers.items()} | {"authorization": f"Bearer {self._token}"}
        answer = self.world.answer(Request(method, unquote(path), query, sent, body))
        yield Written(answer.status, answer.body, {name.lower(): value for name, value in answer.headers.items()})


class Script(Scripted[HubSpotApi]):
    kind = HubSpotApi
    origin = ORIGIN


async def called(tool: ServiceTool, script: Script, **args: Any) -> Result:
    return await tool.run(script.api, tool.params.model_validate(args))


async def _at_once(seconds: float) -> None:
    pass
