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
from demo.services.hubspot.fake import FakeHubSpot
from integrations.hubspot.client import HubSpotApi
from integrations.service_client import ToolFailed
from integrations.tool import Params, Result, ServiceTool
from tests.integrations.scripted_http import PermanentCredential, ScriptedResponse, ScriptedVendor

ORIGIN = "https://api.hubapi.com"
KINDS = ("contacts", "companies", "deals", "owners")


class HubSpotAccount(PermanentCredential):
    def __init__(self) -> None:
        self.tenant = Tenant("hubspot", ORIGIN, threading.RLock())
        self.fake = FakeHubSpot(self.tenant)
        scopes = tuple(f"crm.objects.{kind}.read" for kind in KINDS)
        self._token = self.tenant.grants.issue_to_client(Client("app"), scopes, None).access.text
        self.requests: list[str] = []

    async def run(self, tool: ServiceTool, **args: Any) -> Result:
        params = tool.parse(args)
        assert isinstance(params, Params), params
        return await tool.run(HubSpotApi(self, ORIGIN, _no_pause, title="HubSpot"), params)

    async def ids(self, tool: ServiceTool, **args: Any) -> list[str]:
        return [record["id"] for record in (await self.run(tool, **args)).structured()["records"]]

    async def failure(self, tool: ServiceTool, **args: Any) -> ToolFailed:
        with pytest.raises(ToolFailed) as raised:
            await self.run(tool, **args)
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
    ) -> AsyncIterator[ScriptedResponse]:
        path, _, query = url.removeprefix(ORIGIN).partition("?")
        self.requests.append(f"{method} {path}")
        sent = {name.lower(): value for name, value in headers.items()} | {"authorization": f"Bearer {self._token}"}
        response = self.fake.respond(Request(method, unquote(path), query, sent, body))
        yield ScriptedResponse(
            response.status, response.body, {name.lower(): value for name, value in response.headers.items()}
        )


class ScriptedHubSpot(ScriptedVendor[HubSpotApi]):
    kind = HubSpotApi
    origin = ORIGIN


async def call_tool(tool: ServiceTool, script: ScriptedHubSpot, **args: Any) -> Result:
    return await tool.run(script.api, tool.params.model_validate(args))


async def _no_pause(seconds: float) -> None:
    pass
