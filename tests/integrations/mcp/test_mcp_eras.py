import pytest

from demo.mcp_servers import (
    MODERN,
    FakeMcpServer,
    LegacyServer,
    McpRequest,
    McpResponse,
    ModernServer,
    PlainServer,
    SessionServer,
    error,
    result,
    stream,
)
from integrations.errors import RpcErrorResponse, StatusRefused, Unreachable, UnreadableResponse
from integrations.mcp import Era, McpClient
from integrations.mcp.session import Kind
from tests.fakes.plain_http import client_of, plain_http

SERVERS = [(ModernServer, "modern"), (SessionServer, "streamable"), (LegacyServer, "sse"), (PlainServer, "plain")]
SEEN_AS = {"modern": MODERN, "streamable": "2025-11-25", "sse": "2024-11-05", "plain": None}


@pytest.mark.parametrize(("server", "kind"), SERVERS)
async def test_the_tools_of_a_server_of_any_era_are_listed_and_called(server: type[FakeMcpServer], kind: str) -> None:
    async with client_of(server()) as client:
        assert [tool["name"] for tool in (await client.list_tools()).tools] == ["echo"]
        assert (await client.call_tool("echo", {"text": "hi"}))["content"][0]["text"] == '{"text": "hi"}'
        assert client.era
        assert (client.era.kind, client.era.version) == (kind, SEEN_AS[kind])


@pytest.mark.parametrize(("server", "kind"), SERVERS)
async def test_a_remembered_era_needs_no_probing(server: type[FakeMcpServer], kind: str) -> None:
    era = Era.from_dict({"kind": kind, "version": None, "server": {}})
    fake = server()

    async with client_of(fake, era) as client:
        await client.call_tool("echo", {})

    assert fake.requests_for("server/discover") == []
    assert len(fake.requests_for("tools/call")) == 1


@pytest.mark.parametrize("kind", [kind for _, kind in SERVERS])
@pytest.mark.parametrize(("server", "now"), SERVERS)
async def test_an_outdated_era_is_detected_again(server: type[FakeMcpServer], now: str, kind: str) -> None:
    if (kind, now) in {("plain", "modern"), ("modern", "plain")}:
        pytest.skip("they understand each other, or say so for each request")
    fake = server()

    async with client_of(fake, Era.from_dict({"kind": kind, "version": None, "server": {}})) as client:
        await client.call("tools/list")
        await client.call_tool("echo", {})

        assert client.era
        assert client.era.kind == now
    assert len(fake.requests_for("tools/call")) == 1


async def test_an_era_is_stored_with_the_servers_description() -> None:
    async with client_of(SessionServer()) as client:
        await client.call("tools/list")
        assert client.era
        kept = client.era.to_dict()

    assert kept == {"kind": "streamable", "version": "2025-11-25", "server": {"name": "s", "version": "2"}}
    assert Era.from_dict(kept) == Era("streamable", "2025-11-25", {"name": "s", "version": "2"})


@pytest.mark.parametrize("kept", [{}, {"kind": "new", "version": None, "server": {}}, {"kind": "plain", "version": 1}])
def test_an_unknown_era_is_ignored(kept: dict[str, object]) -> None:
    assert Era.from_dict(kept) is None


@pytest.mark.parametrize(("code", "status"), [(-32020, 400), (-32021, 400), (-32601, 404)])
async def test_a_modern_error_identifies_a_modern_server(code: int, status: int) -> None:
    server = ModernServer(server_discover=lambda request: error(request, code, "no", status))

    async with client_of(server) as client:
        await client.call("tools/list")
        assert client.era == Era("modern", MODERN)
    assert server.requests_for("initialize") == []


async def test_a_server_that_names_only_older_versions_gets_a_handshake() -> None:
    data = {"supported": ["2025-06-18"], "requested": MODERN}

    class Older(SessionServer):
        def respond(self, request: McpRequest) -> McpResponse:
            if request.method == "server/discover":
                return error(request, -32022, "Unsupported protocol version", 400, data)
            return super().respond(request)

    async with client_of(Older(version="2025-06-18")) as client:
        await client.call("tools/list")
        assert client.era
        assert (client.era.kind, client.era.version) == ("streamable", "2025-06-18")


async def test_a_server_without_a_common_version_is_reported() -> None:
    def refuse(request: McpRequest) -> McpResponse:
        return error(request, -32022, "Unsupported protocol version", 400, {"supported": ["2031-01-01"]})

    async with client_of(ModernServer(server_discover=refuse, tools_list=refuse)) as client:
        with pytest.raises(RpcErrorResponse, match=r"Unsupported protocol version - .*2031-01-01"):
            await client.call("tools/list")


async def test_an_error_that_is_not_modern_leads_to_the_handshake() -> None:
    async with client_of(SessionServer()) as client:
        await client.call("tools/list")
        assert client.era
        assert client.era.kind == "streamable"


@pytest.mark.parametrize("status", [302, 401, 403, 429, 503])
async def test_an_unauthorized_client_tries_no_other_protocol(status: int) -> None:
    server = PlainServer(server_discover=lambda _: McpResponse(status, b"{}", headers={"WWW-Authenticate": "Bearer"}))

    async with client_of(server) as client:
        with pytest.raises(StatusRefused) as raised:
            await client.call("tools/list")

    assert (raised.value.status, raised.value.headers["www-authenticate"]) == (status, "Bearer")
    assert server.methods == ["server/discover"]


async def test_an_unauthorized_handshake_tries_no_other_protocol() -> None:
    server = SessionServer(initialize=lambda _: McpResponse(401))

    async with client_of(server, Era("streamable")) as client:
        with pytest.raises(StatusRefused, match="401"):
            await client.call("tools/list")

    assert server.methods == ["initialize"]


async def test_a_server_without_mcp_is_refused_with_its_response_to_the_handshake() -> None:
    server = FakeMcpServer()
    server.handlers = {
        name: lambda _: McpResponse(404, b"<h1>no</h1>", "text/html")
        for name in ("server/discover", "initialize", "GET")
    }

    async with client_of(server) as client:
        with pytest.raises(StatusRefused, match="404 Not Found"):
            await client.call("tools/list")

    assert server.methods == ["server/discover", "initialize", "GET"]


async def test_an_unknown_method_is_recognised_by_its_message() -> None:
    server = PlainServer(
        initialize=lambda request: error(request, -32603, "Internal error", data="Unknown method: initialize")
    )

    async with client_of(server) as client:
        await client.call("tools/list")
        assert client.era == Era("plain")


async def test_the_error_of_a_failed_handshake_is_passed_on() -> None:
    server = PlainServer(initialize=lambda request: error(request, -32603, "Internal error", data="no database"))

    async with client_of(server) as client:
        with pytest.raises(RpcErrorResponse, match="Internal error - no database"):
            await client.call("tools/list")


async def test_an_unknown_version_is_unreadable() -> None:
    async with client_of(SessionServer(version="1999-01-01")) as client:
        with pytest.raises(UnreadableResponse, match="version"):
            await client.call("tools/list")


async def test_a_closed_port_is_unreachable() -> None:
    async with plain_http() as http:
        with pytest.raises(Unreachable):
            await McpClient(http, "http://127.0.0.1:9/mcp").call("tools/list")


async def test_a_call_refused_by_the_same_era_is_not_sent_again() -> None:
    server = SessionServer(tools_call=lambda _: McpResponse(400, b"bad", "text/plain"))

    async with client_of(server, Era("streamable")) as client:
        for _ in range(2):
            with pytest.raises(StatusRefused, match="400 Bad Request"):
                await client.call_tool("echo", {})

    assert len(server.requests_for("tools/call")) == 2
    assert len(server.requests_for("server/discover")) == 1


@pytest.mark.parametrize(
    "broken",
    [
        lambda _: McpResponse(500, b"oops"),
        lambda _: McpResponse(body=b"{"),
        lambda _: McpResponse(body=b""),
        lambda _: stream(b"data: {\n\n"),
        lambda _: stream(b": nothing\n\n"),
        lambda request: error(request, -32000, "busy"),
    ],
)
@pytest.mark.parametrize(("server", "kind"), SERVERS)
async def test_a_call_with_a_malformed_response_is_sent_once(
    server: type[FakeMcpServer], kind: str, broken: object
) -> None:
    if kind == "sse":
        pytest.skip("its answers come another way")
    fake = server(tools_call=broken)

    async with client_of(fake) as client:
        with pytest.raises((StatusRefused, Unreachable, UnreadableResponse, RpcErrorResponse)):
            await client.call_tool("echo", {})
        await client.list_tools()

    assert len(fake.requests_for("tools/call")) == 1


@pytest.mark.requirement("REL-01")
@pytest.mark.parametrize(("server", "kind"), [(SessionServer, "streamable"), (PlainServer, "plain")])
async def test_outside_2026_07_28_the_code_of_a_header_mismatch_repeats_no_call(
    server: type[FakeMcpServer], kind: Kind
) -> None:
    """There the code is the server's own, and the tool may have done its work."""
    fake = server(tools_call=lambda request: error(request, -32020, "Sent, but the archive is full", 400))

    async with client_of(fake, Era(kind)) as client:
        await client.list_tools()
        with pytest.raises(RpcErrorResponse, match="the archive is full"):
            await client.call_tool("echo", {})

    assert len(fake.requests_for("tools/call")) == 1


@pytest.mark.requirement("REL-01")
async def test_the_code_of_a_header_mismatch_repeats_no_call_at_a_server_that_becomes_plain() -> None:
    session = SessionServer(tools_call=lambda request: error(request, -32020, "Sent, but the archive is full", 400))
    now: list[FakeMcpServer] = [session]

    class Changing(FakeMcpServer):
        def respond(self, request: McpRequest) -> McpResponse:
            answer = now[0].respond(request)
            if request.method == "tools/call":
                now[0] = PlainServer()
            return answer

    async with client_of(Changing(), Era("streamable")) as client:
        with pytest.raises(RpcErrorResponse, match="the archive is full"):
            await client.call_tool("echo", {})

    assert now[0].requests_for("tools/call") == []


async def test_a_plain_server_may_return_any_value() -> None:
    async with client_of(PlainServer(getAll=lambda request: result(request, [1, 2]))) as client:
        assert await client.call("getAll", {"a": 1}) == {"result": [1, 2]}


async def test_an_error_of_a_plain_server_has_its_message_and_data() -> None:
    refuse = lambda request: error(request, -32603, "Internal error", data="Location not found")  # noqa: E731

    async with client_of(PlainServer(tools_call=refuse)) as client:
        with pytest.raises(RpcErrorResponse) as answered:
            await client.call("tools/call", {"name": "echo"})

    assert str(answered.value) == "Internal error - Location not found"
