"""Over HTTP, with servers of every kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from demo.mcp_servers import (
    FakeMcpServer,
    LegacyServer,
    McpRequest,
    McpResponse,
    ModernServer,
    PlainServer,
    SessionServer,
    error,
    event,
    stream,
)
from integrations.errors import StatusRefused, UnreadableResponse, UpstreamTimeout
from integrations.mcp.authorization import Authorization, NotAuthorizable, discover
from tests.fakes.plain_http import plain_http
from tests.harness import listening
from tests.integrations.mcp.authorization.scripted_internet import server_metadata

PROTECTED, METADATA = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"


def unauthorized(status: int = 401, challenge: str = 'Bearer scope="files:read"') -> McpResponse:
    return McpResponse(
        status, b'{"error": "invalid_token"}', headers={"WWW-Authenticate": challenge} if challenge else {}
    )


class ConstantServer(FakeMcpServer):
    def __init__(self, reply: McpResponse) -> None:
        super().__init__()
        self.always = reply

    def respond(self, request: McpRequest) -> McpResponse:  # noqa: ARG002  whatever it was
        return self.always


class Site:
    """An MCP server that is its own authorization server and has metadata in the given places."""

    def __init__(self, server: FakeMcpServer, *places: str) -> None:
        self.server, self.places = server, places
        self.url = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/.well-known/"):
            await self._show(scope["path"], send)
        else:
            await self.server(scope, receive, send)

    async def _show(self, path: str, send: Any) -> None:
        pages = {
            PROTECTED: {"resource": self.url, "authorization_servers": [self.url]},
            METADATA: server_metadata(self.url),
        }
        status, body = (200, json.dumps(pages[path])) if path in self.places else (404, "<h1>Not Found</h1>")
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body.encode()})


async def discovered_at(site: Site) -> Authorization:
    with listening(site) as url:
        site.url = url
        async with plain_http() as http:
            return await discover(http, f"{url}/mcp")


@pytest.mark.parametrize("server", [ModernServer, SessionServer, LegacyServer, PlainServer])
async def test_a_server_without_authorization_is_not_connectable(server: type[FakeMcpServer]) -> None:
    with pytest.raises(NotAuthorizable) as caught:
        await discovered_at(Site(server(), METADATA))

    assert caught.value.reason == "not_asked"


async def test_a_public_server_with_metadata_is_connectable() -> None:
    site = Site(ModernServer(), PROTECTED, METADATA)

    authorization = await discovered_at(site)

    assert (authorization.source, authorization.resource, authorization.provider.issuer) == ("prm", site.url, site.url)


async def test_a_401_to_the_first_request_is_a_challenge() -> None:
    server = ConstantServer(unauthorized())

    authorization = await discovered_at(Site(server, PROTECTED, METADATA))

    assert authorization.scopes == ("files:read",)
    assert server.methods == ["server/discover"]
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("server", [ModernServer, SessionServer])
async def test_a_server_with_a_public_handshake_is_probed_for_its_tools(server: type[FakeMcpServer]) -> None:
    fake = server(tools_list=lambda _: unauthorized())

    authorization = await discovered_at(Site(fake, METADATA))

    assert (authorization.source, authorization.scopes) == ("2025-03-26", ("files:read",))


async def test_a_401_to_a_legacy_stream_is_a_challenge() -> None:
    class OnlyStreams(FakeMcpServer):
        def respond(self, request: McpRequest) -> McpResponse:
            return unauthorized() if request.http_method == "GET" else McpResponse(405)

    assert (await discovered_at(Site(OnlyStreams(), METADATA))).scopes == ("files:read",)


async def test_a_403_for_insufficient_scope_is_a_challenge() -> None:
    server = ModernServer(server_discover=lambda _: unauthorized(403, 'Bearer scope="a", error="insufficient_scope"'))

    assert (await discovered_at(Site(server, METADATA))).scopes == ("a",)


@pytest.mark.parametrize("status", [403, 418, 429, 500, 503])
async def test_another_refusal_is_reported_unchanged(status: int) -> None:
    with pytest.raises(StatusRefused) as caught:
        await discovered_at(Site(ConstantServer(unauthorized(status, "")), METADATA))

    assert caught.value.status == status


async def test_a_web_page_is_not_an_mcp_server() -> None:
    with pytest.raises(UnreadableResponse):
        await discovered_at(Site(ConstantServer(McpResponse(200, b"<h1>Welcome</h1>", "text/html")), METADATA))


async def test_a_retry_after_of_the_probe_is_not_waited_for() -> None:
    def later(_: McpRequest) -> McpResponse:
        return stream(event("", id="1", retry=50_000))

    with pytest.raises(UpstreamTimeout):
        await discovered_at(Site(SessionServer(tools_list=later), METADATA))


async def test_a_server_of_an_unknown_version_cannot_be_probed() -> None:
    with pytest.raises(UnreadableResponse):
        await discovered_at(Site(SessionServer(version="1999-01-01"), METADATA))


async def test_a_server_without_tools_needs_no_authorization() -> None:
    server = ModernServer(tools_list=lambda request: error(request, -32601, "Method not found", 404))

    with pytest.raises(NotAuthorizable) as caught:
        await discovered_at(Site(server, METADATA))

    assert caught.value.reason == "not_asked"
