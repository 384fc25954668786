"""A fake PostHog with a company's data, and its tools called without a network."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from demo.oauth_provider.http import Request
from demo.oauth_provider.tenant import Tenant
from demo.services.posthog.fake import FakePostHog
from integrations.json_object import Json
from integrations.posthog.client import PosthogApi
from integrations.posthog.tools import TOOLS
from integrations.service_client import ToolFailed
from integrations.tool import Params, Result
from tests.integrations.scripted_http import PermanentCredential, ScriptedResponse

US = "https://us.posthog.com"
BY_NAME = {tool.name: tool for tool in TOOLS}


class PostHogTools(PermanentCredential):
    def __init__(self) -> None:
        self.fake = FakePostHog(Tenant("posthog", "http://127.0.0.1", threading.RLock()), polls=0)
        self.requests: list[str] = []

    async def run(self, tool: str, **args: Any) -> Result:
        parsed = BY_NAME[tool].parse(args)
        assert isinstance(parsed, Params), parsed
        return await BY_NAME[tool].run(PosthogApi(self, US, self._pause, title="PostHog"), parsed)

    async def text(self, tool: str, **args: Any) -> str:
        """What a model reads, whatever comes of it."""
        parsed = BY_NAME[tool].parse(args)
        if isinstance(parsed, list):
            return " ".join(parsed)
        try:
            return (await self.run(tool, **args)).text()
        except ToolFailed as failed:
            return failed.text

    async def structured(self, tool: str, **args: Any) -> Json:
        return (await self.run(tool, **args)).structured()

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],  # noqa: ARG002  the key is added here
        body: bytes = b"",
        *,
        lasting: bool = False,  # noqa: ARG002  the port is like that
    ) -> AsyncIterator[ScriptedResponse]:
        parts = urlsplit(url)
        self.requests.append(f"{method} {parts.path}{f'?{parts.query}' if parts.query else ''}")
        sent = {"authorization": "Bearer phx_demo", "content-type": "application/json"}
        response = self.fake.respond(Request(method, parts.path, parts.query, sent, body))
        yield ScriptedResponse(
            response.status, response.body, {name.lower(): item for name, item in response.headers.items()}
        )

    async def _pause(self, seconds: float) -> None:
        raise AssertionError(seconds)
