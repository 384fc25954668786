"""An internet of a few pages, as the port `Http` shows it. All else is not there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from integrations.errors import UpstreamError

MCP = "https://mcp.example.com/team/mcp"
PROTECTED = "https://mcp.example.com/.well-known/oauth-protected-resource"
ISSUER = "https://as.example.com"
METADATA = f"{ISSUER}/.well-known/oauth-authorization-server"

Json = dict[str, Any]


@dataclass(frozen=True)
class ScriptedPage:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: str = "as it is"

    async def read(self) -> bytes:
        return self.body

    async def chunks(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.body), 65_536):
            yield self.body[start : start + 65_536]


NOT_FOUND = ScriptedPage(404, b"<h1>Not Found</h1>")


def unauthorized(*challenge: str, status: int = 401) -> ScriptedPage:
    return ScriptedPage(status, b"{}", {"www-authenticate": ", ".join(challenge)} if challenge else {})


@dataclass
class Internet:
    """A page may be a response, a JSON value, or an exception to raise."""

    pages: Mapping[str, ScriptedPage | Json | list[Any] | UpstreamError]
    requests: list[tuple[str, str, Mapping[str, str], bytes]] = field(default_factory=list)

    @property
    def requested_urls(self) -> list[str]:
        return [url for method, url, _, _ in self.requests if method == "GET"]

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        lasting: bool = False,  # noqa: ARG002  the port has it
    ) -> AsyncIterator[ScriptedPage]:
        self.requests.append((method, url, headers, body))
        result = self.pages.get(url, NOT_FOUND)
        if isinstance(result, UpstreamError):
            raise result
        yield result if isinstance(result, ScriptedPage) else ScriptedPage(body=json.dumps(result).encode())


def server_metadata(issuer: str = ISSUER, **changed: Any) -> Json:
    """The metadata of a good authorization server. What is None is left out."""
    text = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "registration_endpoint": f"{issuer}/register",
        "code_challenge_methods_supported": ["S256"],
    }
    return {name: value for name, value in (text | changed).items() if value is not None}


def resource_metadata(resource: object = MCP, *servers: str, **more: object) -> Json:
    return {"resource": resource, "authorization_servers": [*(servers or [ISSUER])], **more}


def protected(more: Mapping[str, Any] | None = None, **changed: Any) -> Internet:
    """A server at `MCP`, its metadata, and an authorization server with what is `changed` in its own."""
    pages: dict[str, Any] = {
        MCP: unauthorized("Bearer"),
        f"{PROTECTED}/team/mcp": resource_metadata(),
        METADATA: server_metadata(**changed),
    }
    return Internet(pages | dict(more or {}))


def without(internet: Internet, *urls: str) -> Internet:
    return replace(internet, pages={url: page for url, page in internet.pages.items() if url not in urls})
