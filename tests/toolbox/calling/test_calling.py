"""A call of a tool, from the request to what an agent reads of the answer."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from api.main.settings import Settings
from demo.mcp_servers import (
    FakeMcpServer,
    LegacyServer,
    McpRequest,
    McpResponse,
    ModernServer,
    PlainServer,
    SessionServer,
    error,
    result,
)
from tests.harness import Workspace, listening, served
from tests.toolbox.toolbox_client import SECRET, ToolboxClient, call_answered_with, failure, generic

ERAS: dict[str, Callable[[], FakeMcpServer]] = {
    "modern": ModernServer,
    "session": SessionServer,
    "session with streams": lambda: SessionServer(streams=True),
    "2025-06-18": lambda: SessionServer(version="2025-06-18"),
    "2025-03-26": lambda: SessionServer(version="2025-03-26", streams=True),
    "http and sse": lambda: LegacyServer("messages?session=1"),
    "plain": PlainServer,
}
ECHO_TOOL = "mcp_weather_echo"
BOTH_WAYS = pytest.mark.parametrize("way", ["named", "generic"])


def returning(**answer: Any) -> Callable[[McpRequest], McpResponse]:
    return lambda request: result(request, answer)


@pytest.mark.parametrize("era", ERAS)
def test_a_tool_is_called_over_every_protocol(toolbox: ToolboxClient, era: str) -> None:
    fake = ERAS[era]()
    agent = toolbox.agent(toolbox.server(fake))

    first, again = (toolbox.call(agent, ECHO_TOOL, {"text": text}) for text in ("hello", "again"))

    assert first == {
        "text": '{"text": "hello"}',
        "content": [{"type": "text", "text": '{"text": "hello"}'}],
        "isError": False,
    }
    assert again["text"] == '{"text": "again"}'
    called = fake.requests_for("tools/call")
    assert [seen.message["params"]["arguments"] for seen in called] == [{"text": "hello"}, {"text": "again"}]
    assert {request.headers["authorization"] for request in fake.requests} == {f"Bearer {SECRET}"}


@pytest.mark.parametrize("era", ERAS)
def test_a_second_call_is_one_request(toolbox: ToolboxClient, era: str) -> None:
    fake = ERAS[era]()
    agent = toolbox.agent(toolbox.server(fake))
    toolbox.call(agent, ECHO_TOOL)
    fake.requests.clear()

    toolbox.call(agent, ECHO_TOOL)

    assert fake.methods == ["tools/call"]


@pytest.mark.parametrize("era", ERAS)
def test_the_generic_tool_calls_tools_and_any_other_method(toolbox: ToolboxClient, era: str) -> None:
    fake = ERAS[era]()
    fake.handlers["resources/read"] = lambda request: result(
        request, {"contents": [{"uri": request.message["params"]["uri"]}]}
    )
    server = toolbox.server(fake)
    agent, tool = toolbox.agent(server), generic(server)

    called = toolbox.call(
        agent, tool, {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hello"}}}
    )
    read = toolbox.call(agent, tool, {"method": "resources/read", "params": {"uri": "file:///a"}})

    assert (called["text"], called["isError"]) == ('{"text": "hello"}', False)
    assert read["structuredContent"]["contents"] == [{"uri": "file:///a"}]
    assert json.loads(read["text"]) == read["structuredContent"]
    assert read["content"] == [{"type": "text", "text": read["text"]}]


def test_a_method_without_params_is_sent_without_params(toolbox: ToolboxClient) -> None:
    fake = PlainServer(ping=returning())
    server = toolbox.server(fake)

    answer = toolbox.call(toolbox.agent(server), generic(server), {"method": "ping"})

    assert (answer["text"], answer["structuredContent"], answer["isError"]) == ("{}", {}, False)
    assert "params" not in fake.requests_for("ping")[0].message


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({}, "needs the field `method`, which is missing."),
        ({"method": 1}, "`method` must be a string; it is the number 1."),
        ({"method": "ping", "params": []}, "`params` must be"),
        ({"method": "ping", "parms": {}}, "parms"),
        ({"method": "initialize"}, "The method initialize belongs to the connection"),
        ({"method": "notifications/initialized"}, "belongs to the connection"),
    ],
)
def test_the_generic_tool_says_how_to_correct_invalid_arguments(
    toolbox: ToolboxClient, args: dict[str, Any], told: str
) -> None:
    fake = PlainServer()
    server = toolbox.server(fake)

    kind, text = failure(toolbox.call(toolbox.agent(server), generic(server), args))

    assert kind == "invalid_arguments"
    assert text.startswith(f"Error: the arguments of {generic(server)} do not fit. ")
    assert told in text
    assert not fake.requests


def test_invalid_arguments_get_an_error_that_says_how_to_correct_them(toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    agent = toolbox.agent(toolbox.server(fake))

    result = toolbox.call(agent, ECHO_TOOL, {"text": 1})

    assert failure(result) == (
        "invalid_arguments",
        f"Error: the arguments of {ECHO_TOOL} do not fit. `text` must be a string; it is the number 1.",
    )
    assert not fake.requests_for("tools/call")


@BOTH_WAYS
@pytest.mark.requirement("TRS-05")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, "Error calling MCP server: Internal error"),
        ("Location not found", "Error calling MCP server: Internal error - Location not found"),
        ({"city": "Oslo"}, 'Error calling MCP server: Internal error - {"city": "Oslo"}'),
        ({}, "Error calling MCP server: Internal error"),
    ],
)
def test_a_json_rpc_error_has_its_exact_text(toolbox: ToolboxClient, way: str, data: object, told: str) -> None:
    result = call_answered_with(toolbox, lambda request: error(request, -32603, "Internal error", data=data), way)

    assert failure(result) == ("upstream_refused", told)
    assert "structuredContent" not in result


@BOTH_WAYS
@pytest.mark.requirement("TRS-05")
@pytest.mark.parametrize(
    ("status", "headers", "kind", "told", "after"),
    [
        (500, {}, "upstream_unavailable", "500 Internal Server Error", None),
        (503, {"Retry-After": "7"}, "upstream_unavailable", "503 Service Unavailable", 7),
        (401, {}, "upstream_refused", "401 Unauthorized", None),
        (403, {}, "upstream_refused", "403 Forbidden", None),
        (404, {}, "upstream_refused", "404 Not Found", None),
        (429, {"Retry-After": "30"}, "rate_limited", "429 Too Many Requests", 30),
        (429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, "rate_limited", "429 Too Many Requests", None),
        (302, {"Location": "http://127.0.0.1:1/"}, "upstream_refused", "302 Found", None),
    ],
)
def test_an_error_status_has_its_exact_text(
    toolbox: ToolboxClient, way: str, status: int, headers: dict[str, str], kind: str, told: str, after: int | None
) -> None:
    result = call_answered_with(toolbox, lambda _: McpResponse(status, b"<h1>no</h1>", "text/html", headers), way)

    assert failure(result) == (kind, f"Error calling MCP server: MCP server request failed: {told}")
    assert result["error"].get("retryAfter") == after


@BOTH_WAYS
def test_the_error_of_a_failed_tool_is_passed_on(toolbox: ToolboxClient, way: str) -> None:
    content = [{"type": "text", "text": "No such city"}]

    result = call_answered_with(toolbox, returning(content=content, isError=True), way)

    assert result == {"text": "No such city", "content": content, "isError": True}


@BOTH_WAYS
def test_structured_content_is_passed_on(toolbox: ToolboxClient, way: str) -> None:
    expected = {"celsius": 4, "sky": ["rain", None, 1.5], "deep": {"a": [{"b": True}]}}

    result = call_answered_with(
        toolbox, returning(content=[{"type": "text", "text": "4"}], structuredContent=expected), way
    )

    assert (result["text"], result["structuredContent"]) == ("4", expected)


@BOTH_WAYS
@pytest.mark.requirement("EGR-10")
def test_a_credential_is_sent_only_to_the_origin_it_was_entered_for(toolbox: ToolboxClient, way: str) -> None:
    old_home, new_home = PlainServer(), PlainServer()
    server = toolbox.server(old_home)
    agent = toolbox.agent(server)
    tool, args = (ECHO_TOOL, {}) if way == "named" else (generic(server), {"method": "tools/list"})
    toolbox.call(agent, tool, args)
    old_home.requests.clear()

    with listening(new_home) as url:
        moved = toolbox.change(server, url=f"{url}/mcp")
        result = toolbox.call(agent, tool, args)
        values = toolbox.change(server, config={"headerValue": "Bearer canary-new"})
        connected = toolbox.call(agent, tool, args)

    assert (moved["configured"], values["configured"]) == ([], ["headerValue"])
    assert failure(result) == (
        "not_connected",
        "Error: The server 'Weather' has no credentials for its current URL. Enter them again in its `config`.",
    )
    assert not connected["isError"]
    assert {request.headers["authorization"] for request in new_home.requests} == {"Bearer canary-new"}
    assert not old_home.requests


@pytest.mark.requirement("EGR-10", "EGR-11")
@pytest.mark.parametrize("auth_type", ["none", "header"])
def test_a_url_is_checked_at_each_call(toolbox: ToolboxClient, auth_type: str) -> None:
    """It was acceptable when it was stored, and is not where the operator has thought better of it."""
    fake, config = PlainServer(), {"headerValue": "Bearer canary"} if auth_type == "header" else {}
    server = toolbox.server(fake, authType=auth_type, config=config)
    agent, here = toolbox.agent(server), toolbox.workspace
    with served(Settings(data_dir=here.plugboard.settings.data_dir)) as stricter:
        there = ToolboxClient(Workspace(stricter, here.id, here.key, stricter.caller(here.key)), toolbox.upstream_host)

        notes = [failure(there.call(agent, ECHO_TOOL))[0], there.tools_of(server)["unavailable"][0]["reason"]]

    assert notes == ["upstream_unavailable", "unreachable"]
    assert not fake.requests
    assert toolbox.call(agent, ECHO_TOOL)["isError"] is False


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"toolName": ""},
        {"toolName": "x" * 129},
        {"toolName": 1},
        {"toolName": ECHO_TOOL, "args": []},
        {"toolName": ECHO_TOOL, "args": None},
        {"toolName": ECHO_TOOL, "arguments": {}},
    ],
)
def test_a_malformed_call_is_refused(toolbox: ToolboxClient, body: dict[str, Any]) -> None:
    agent = toolbox.agent()

    response = toolbox.admin.post(f"{toolbox.workspace.agents}/{agent}/tool-calls", json=body)

    assert (response.status_code, response.json()["code"]) == (422, "invalid")


def test_arguments_may_be_omitted(toolbox: ToolboxClient) -> None:
    agent = toolbox.agent(toolbox.server(PlainServer()))

    response = toolbox.admin.post(f"{toolbox.workspace.agents}/{agent}/tool-calls", json={"toolName": ECHO_TOOL})

    assert response.json()["text"] == "{}"


def test_http_basic_and_further_headers_are_sent(toolbox: ToolboxClient) -> None:
    basic, further = PlainServer(), PlainServer()
    first = toolbox.server(basic, authType="basic", config={"username": "anna", "password": "canary-pass"})
    second = toolbox.server(further, "rain", config={"headers": {"X-Api-Key": "canary-key"}})
    agent = toolbox.agent(first, second)

    toolbox.call(agent, ECHO_TOOL)
    toolbox.call(agent, "mcp_rain_echo")

    assert basic.requests[-1].headers["authorization"] == "Basic " + base64.b64encode(b"anna:canary-pass").decode()
    assert further.requests[-1].headers["x-api-key"] == "canary-key"
    assert "authorization" not in further.requests[-1].headers
