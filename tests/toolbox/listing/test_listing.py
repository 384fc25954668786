"""The list of an agent's tools: in the form that its client takes, whole where servers answer, and quick where not."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from mcp_types import Tool

from demo.mcp_servers import (
    ECHO,
    FakeMcpServer,
    Json,
    McpRequest,
    McpResponse,
    ModernServer,
    PlainServer,
    error,
    result,
)
from tests.fakes.still_clock import StillClock
from tests.fakes.stuck_server import StuckServer
from tests.toolbox.toolbox_client import ToolboxClient, generic, wait_until

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
NOWHERE = "http://127.0.0.1:9/mcp"  # a closed port
FORECAST: Json = {
    "name": "get.forecast",
    "title": "Forecast",
    "description": "The weather of the next days.",
    "inputSchema": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "anyOf": [{"required": ["city"]}, {"required": ["place"]}],
        "properties": {
            "city": {"type": "string", "description": "Its name."},
            "place": {"$ref": "#/$defs/place"},
            "$odd name": {"type": "string"},
        },
        "$defs": {"place": {"type": "object", "properties": {"lat": {"type": "number"}}}},
    },
    "annotations": {"readOnlyHint": True, "destructiveHint": "no"},
}


def parts(schema: Any) -> Iterator[Json]:
    """Every object in a schema."""
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from parts(inner)


def check_for_clients(schema: Json) -> None:
    """A strict client takes an object's schema that refers to nothing elsewhere and alternates nothing at the top."""
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "enum", "not"} & schema.keys()
    assert all(str(part["$ref"]).startswith("#") for part in parts(schema) if "$ref" in part)
    jsonschema_rs.Draft202012Validator(schema, offline=True)


@pytest.fixture
def agent(toolbox: ToolboxClient) -> str:
    return toolbox.agent(toolbox.server(PlainServer([ECHO, FORECAST])), toolbox.server(PlainServer(), "rain"))


def test_the_list_for_mcp_has_the_types_of_the_protocol(toolbox: ToolboxClient, agent: str) -> None:
    listed = toolbox.list(agent, "mcp")["tools"]

    assert len(listed) == 5
    for item in listed:
        assert Tool.model_validate(item).model_dump(mode="json", by_alias=True, exclude_unset=True) == item
        assert NAME.fullmatch(item["name"])
        check_for_clients(item["inputSchema"])
    forecast = listed[2]
    assert (forecast["title"], forecast["description"]) == ("Forecast", "The weather of the next days.")
    assert forecast["annotations"] == {"readOnlyHint": True}


def test_the_list_for_openai_has_its_format(toolbox: ToolboxClient, agent: str) -> None:
    listed = toolbox.list(agent, "openai")["tools"]

    assert len(listed) == 5
    for item in listed:
        assert item.keys() == {"type", "function"}
        assert item["type"] == "function"
        function = item["function"]
        assert {"name", "parameters"} <= function.keys() <= {"name", "description", "parameters"}
        assert NAME.fullmatch(function["name"])
        assert len(function.get("description", "")) <= 1024
        check_for_clients(function["parameters"])


def test_the_list_for_anthropic_has_its_format(toolbox: ToolboxClient, agent: str) -> None:
    listed = toolbox.list(agent, "anthropic")["tools"]

    assert len(listed) == 5
    for item in listed:
        assert {"name", "input_schema"} <= item.keys() <= {"name", "description", "input_schema"}
        assert NAME.fullmatch(item["name"])
        assert all(re.fullmatch("[A-Za-z0-9_.-]{1,64}", name) for name in item["input_schema"]["properties"])
        check_for_clients(item["input_schema"])


def test_all_formats_have_the_same_tools(toolbox: ToolboxClient, agent: str) -> None:
    mcp, openai, anthropic = (toolbox.list(agent, form)["tools"] for form in ("mcp", "openai", "anthropic"))

    names = [tool["name"] for tool in mcp]
    assert [tool["function"]["name"] for tool in openai] == [tool["name"] for tool in anthropic] == names


def test_mcp_is_the_default_format(toolbox: ToolboxClient, agent: str) -> None:
    path = f"{toolbox.workspace.agents}/{agent}/tools"

    assert toolbox.admin.get(path).content == toolbox.admin.get(path, params={"format": "mcp"}).content
    for wrong in ("", "MCP", "gemini"):
        response = toolbox.admin.get(path, params={"format": wrong})
        assert (response.status_code, response.json()["errors"][0]["path"]) == (422, "format")


def test_the_generic_tool_is_described_in_fixed_words(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer(), name="Acme's weather")
    agent = toolbox.agent(server)

    assert toolbox.list(agent)["tools"][0] == {
        "name": generic(server),
        "description": "Call the MCP server 'Acme's weather'. Provide the MCP method name and optional parameters.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "method": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 200,
                    "description": "The MCP method, such as tools/call.",
                },
                "params": {"type": "object", "description": "The method's parameters."},
            },
            "required": ["method"],
            "additionalProperties": False,
        },
    }


def test_the_tools_of_a_server_are_listed_with_their_own_names(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer([ECHO, FORECAST]))

    listed = toolbox.tools_of(server)

    assert listed["unavailable"] == []
    assert [tool["upstreamName"] for tool in listed["tools"]] == ["echo", "get.forecast"]
    for each in listed["tools"]:
        rule = {server["id"]: [each["upstreamName"]]}
        assert toolbox.names(toolbox.agent(server, enabledMcpServerToolNames=rule)) == [each["name"]]


def refused(status: int) -> Any:
    return lambda _: McpResponse(status)


@pytest.mark.parametrize(
    ("fake", "reason", "detail"),
    [
        (PlainServer(tools_list=refused(401)), "unauthorized", "MCP server request failed: 401 Unauthorized"),
        (PlainServer(tools_list=refused(403)), "unauthorized", "MCP server request failed: 403 Forbidden"),
        (PlainServer(tools_list=refused(500)), "unreachable", "MCP server request failed: 500 Internal Server Error"),
        (PlainServer(tools_list=lambda _: McpResponse(body=b"<html>")), "invalid", "The answer is not JSON."),
        (PlainServer(tools_list=lambda request: result(request, {"tools": 1})), "invalid", "The tools are not a list."),
        (PlainServer(tools_list=lambda request: error(request, -32603, "Broken")), "invalid", "Broken"),
        (StuckServer("tools/list"), "timeout", "no answer in time."),
    ],
    ids=["401", "403", "500", "no JSON", "no list", "JSON-RPC error", "no answer"],
)
def test_a_broken_server_costs_only_its_own_tools_and_is_named(
    toolbox: ToolboxClient, fake: FakeMcpServer, reason: str, detail: str
) -> None:
    broken = toolbox.server(fake, "broken", timeoutSeconds=1)
    good = toolbox.server(PlainServer(), "good")

    listed = toolbox.list(toolbox.agent(broken, good))

    assert [tool["name"] for tool in listed["tools"]] == [generic(broken), generic(good), "mcp_good_echo"]
    (missing,) = listed["unavailable"]
    assert (missing["serverId"], missing["name"], missing["reason"]) == (broken["id"], "Broken", reason)
    assert missing["detail"].startswith(f"Error calling MCP server: {detail}")
    assert toolbox.tools_of(broken) == {"tools": [], "unavailable": [missing]}


def test_an_unreachable_server_is_named(toolbox: ToolboxClient) -> None:
    gone, good = toolbox.server(PlainServer(), "gone", url=NOWHERE), toolbox.server(PlainServer(), "good")

    listed = toolbox.list(toolbox.agent(gone, good))

    assert [tool["name"] for tool in listed["tools"]] == [generic(gone), generic(good), "mcp_good_echo"]
    assert [item["reason"] for item in listed["unavailable"]] == ["unreachable"]


def test_a_server_without_credentials_gets_no_request(toolbox: ToolboxClient) -> None:
    server = toolbox.workspace.make_silent_server()
    linear = toolbox.workspace.make_server(name="Linear", authType="oauth", serviceType="linear", url=None, config={})

    listed = toolbox.list(toolbox.agent(server, linear))

    assert [tool["name"] for tool in listed["tools"]] == [generic(server)]
    assert [(item["name"], item["reason"]) for item in listed["unavailable"]] == [
        ("Weather API", "not_connected"),
        ("Linear", "not_connected"),
    ]


def test_a_list_does_not_wait_for_a_silent_server(toolbox: ToolboxClient) -> None:
    stuck = [toolbox.server(StuckServer("tools/list"), f"s-{n}", timeoutSeconds=1) for n in range(5)]
    begun = time.monotonic()

    listed = toolbox.list(toolbox.agent(*stuck, toolbox.server(PlainServer(), "good")))

    assert time.monotonic() - begun < 5  # together, not one after the other
    assert len(listed["tools"]) == 7
    assert {item["reason"] for item in listed["unavailable"]} == {"timeout"}


def test_servers_keep_the_order_of_the_agent_and_tools_the_order_of_their_server(toolbox: ToolboxClient) -> None:
    tools = [ECHO | {"name": name} for name in ("zeta", "alpha", "mid")]
    first, second = toolbox.server(PlainServer(tools), "zz"), toolbox.server(PlainServer(), "aa")

    assert toolbox.names(toolbox.agent(first, second)) == [
        *(generic(first), "mcp_zz_zeta", "mcp_zz_alpha", "mcp_zz_mid"),
        *(generic(second), "mcp_aa_echo"),
    ]


def test_names_stay_the_same_when_servers_come_and_go(toolbox: ToolboxClient) -> None:
    first = toolbox.server(PlainServer([ECHO, FORECAST]), "mail")
    alone = toolbox.names(toolbox.agent(first))

    twin = toolbox.server(PlainServer([FORECAST, ECHO]), "mail-2", name="Mail")
    both = toolbox.names(toolbox.agent(twin, first))
    toolbox.admin.delete(f"{toolbox.workspace.servers}/{twin['id']}?detach=true")

    assert set(alone) < set(both)
    assert len(both) == len(set(both)) == 6
    assert toolbox.names(toolbox.agent(first)) == alone


def test_names_that_no_vendor_accepts_are_altered_and_stay_distinct(toolbox: ToolboxClient) -> None:
    odd = ["a" * 300, "a" * 299 + "b", "ทดสอบ", "get forecast", "get/forecast", "get_forecast"]
    server = toolbox.server(PlainServer([ECHO | {"name": name} for name in odd]))
    agent = toolbox.agent(server)

    names = toolbox.names(agent)[1:]

    assert len(set(names)) == len(odd)
    assert all(NAME.fullmatch(name) for name in names)
    assert names[-1] == "mcp_weather_get_forecast"
    for name in names:
        assert toolbox.call(agent, name)["isError"] is False


def test_invalid_tools_are_left_out_and_the_others_are_listed(toolbox: ToolboxClient) -> None:
    odd: list[Any] = [
        1,
        None,
        {},
        {"name": ""},
        {"name": 3},
        {"name": "bare"},
        ECHO,
        ECHO | {"title": "the same again"},
    ]
    server = toolbox.server(PlainServer(odd))

    assert toolbox.names(toolbox.agent(server)) == [generic(server), "mcp_weather_bare", "mcp_weather_echo"]


@pytest.mark.parametrize("server_class", [ModernServer, PlainServer])
def test_a_list_is_cached(toolbox: ToolboxClient, server_class: type[FakeMcpServer]) -> None:
    fake = server_class()
    server = toolbox.server(fake)
    agent, other = toolbox.agent(server), toolbox.agent(server)
    listed = toolbox.list(agent)
    fake.requests.clear()

    assert toolbox.list(agent) == toolbox.list(other) == listed
    assert toolbox.list(agent, "openai")["tools"]
    assert len(toolbox.tools_of(server)["tools"]) == 1
    assert not fake.requests


def listing_for(ttl_ms: object, tools: list[Json]) -> Any:
    def answer(request: McpRequest) -> McpResponse:
        hint = {} if ttl_ms is None else {"ttlMs": ttl_ms}
        return result(request, {"tools": tools, **hint})

    return answer


@pytest.mark.parametrize(("ttl_ms", "seconds"), [(None, 300.0), (5000, 5.0), (60_000, 60.0), ("5000", 300.0)])
def test_a_list_is_cached_for_as_long_as_its_server_says(
    timed_toolbox: ToolboxClient, clock: StillClock, ttl_ms: object, seconds: float
) -> None:
    tools = [ECHO]
    fake = PlainServer(tools_list=listing_for(ttl_ms, tools))
    server = timed_toolbox.server(fake)
    agent = timed_toolbox.agent(server)
    timed_toolbox.list(agent)
    tools.append(ECHO | {"name": "new"})

    clock.advance(seconds - 0.1)
    assert "mcp_weather_new" not in timed_toolbox.names(agent)
    assert len(fake.requests_for("tools/list")) == 1
    clock.advance(0.2)
    wait_until(lambda: "mcp_weather_new" in timed_toolbox.names(agent))  # a stale list
    assert len(fake.requests_for("tools/list")) == 2


def test_a_list_that_is_never_fresh_is_requested_each_time(timed_toolbox: ToolboxClient) -> None:
    tools = [ECHO]
    fake = PlainServer(tools_list=listing_for(0, tools))
    agent = timed_toolbox.agent(timed_toolbox.server(fake))
    timed_toolbox.list(agent)
    tools.append(ECHO | {"name": "new"})

    assert "mcp_weather_new" in timed_toolbox.names(agent)


def test_a_list_that_is_very_old_is_not_shown(timed_toolbox: ToolboxClient, clock: StillClock) -> None:
    fake = PlainServer(tools_list=listing_for(1000, [ECHO]))
    agent = timed_toolbox.agent(timed_toolbox.server(fake))
    timed_toolbox.list(agent)

    fake.handlers["tools/list"] = refused(500)
    clock.advance(2 * 3600)

    assert [item["reason"] for item in timed_toolbox.list(agent)["unavailable"]] == ["unreachable"]


def test_refresh_bypasses_the_cache(toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    toolbox.list(agent)
    fake.tools = [ECHO | {"name": "new"}]

    assert [tool["upstreamName"] for tool in toolbox.tools_of(server)["tools"]] == ["echo"]
    assert [tool["upstreamName"] for tool in toolbox.tools_of(server, refresh="true")["tools"]] == ["new"]
    assert toolbox.names(agent) == [generic(server), "mcp_weather_new"]


@pytest.mark.parametrize("text", ["", "1", "True"])
def test_refresh_must_be_true_or_false(toolbox: ToolboxClient, text: str) -> None:
    path = f"{toolbox.workspace.servers}/{toolbox.server(PlainServer())['id']}/tools"

    response = toolbox.admin.get(path, params={"refresh": text})

    assert (response.status_code, response.json()["errors"][0]["path"]) == (422, "refresh")


def test_a_call_finds_a_tool_that_is_newer_than_the_cached_list(
    timed_toolbox: ToolboxClient, clock: StillClock
) -> None:
    fake = PlainServer()
    agent = timed_toolbox.agent(timed_toolbox.server(fake))
    timed_toolbox.list(agent)
    fake.tools = [ECHO, ECHO | {"name": "new"}]

    clock.advance(6)

    assert timed_toolbox.call(agent, "mcp_weather_new", {"text": "hi"})["text"] == '{"text": "hi"}'
    assert "mcp_weather_new" in timed_toolbox.names(agent)


def test_a_removed_tool_is_not_in_the_next_list(timed_toolbox: ToolboxClient) -> None:
    fake = PlainServer([ECHO, ECHO | {"name": "old"}])
    agent = timed_toolbox.agent(timed_toolbox.server(fake))
    assert "mcp_weather_old" in timed_toolbox.names(agent)

    fake.tools = [ECHO]
    fake.handlers["tools/call"] = lambda request: error(request, -32602, "Unknown tool: old")

    assert timed_toolbox.call(agent, "mcp_weather_old")["text"] == "Error calling MCP server: Unknown tool: old"
    assert "mcp_weather_old" not in timed_toolbox.names(agent)


def test_arguments_are_checked_against_the_current_schema(timed_toolbox: ToolboxClient, clock: StillClock) -> None:
    strict = ECHO | {"inputSchema": ECHO["inputSchema"] | {"additionalProperties": False}}
    fake = PlainServer([strict])
    agent = timed_toolbox.agent(timed_toolbox.server(fake))
    timed_toolbox.list(agent)
    fake.tools = [ECHO]

    clock.advance(6)

    assert timed_toolbox.call(agent, "mcp_weather_echo", {"new": 1})["text"] == '{"new": 1}'
