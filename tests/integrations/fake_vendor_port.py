"""A vendor that a fake stands in for, asked over HTTP by a tool that is run without a Plugboard around it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

import httpx2

from integrations.service_client import ServiceClient
from integrations.tool import Result, ServiceTool
from tests.harness import NO_TLS
from tests.integrations.scripted_http import PermanentCredential, ScriptedResponse

A = TypeVar("A", bound=ServiceClient)


class FakeVendorPort(PermanentCredential, Generic[A]):
    def __init__(self, kind: type[A], origin: str, token: str) -> None:
        self._kind = kind
        self._origin = origin
        self._token = token

    async def call(self, tool: ServiceTool, **args: Any) -> Result:
        parsed = tool.parse(args)
        assert not isinstance(parsed, list), parsed
        return await tool.run(self._kind(self, self._origin), parsed)

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
        values = {**headers, "Authorization": f"Bearer {self._token}"}
        async with httpx2.AsyncClient(verify=NO_TLS, trust_env=False) as client:
            response = await client.request(method, url, headers=values, content=body)
        yield ScriptedResponse(response.status_code, response.content, dict(response.headers), response.reason_phrase)
