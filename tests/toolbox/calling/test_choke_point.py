"""What an agent may not call is refused, however it is called, and nothing of it reaches an upstream."""

from __future__ import annotations

import time
from typing import Any

import httpx2
import pytest

from demo.mcp_servers import ECHO, McpResponse, PlainServer
from tests.cpu_time import tracing_factor
from tests.http.operations_on_workspace import assert_problem
from tests.toolbox.toolbox_client import ToolboxClient, generic, wait_until

ECHO_TOOL, SECOND_TOOL = "mcp_weather_echo", "mcp_weather_second"
CALL_ECHO = {"method": "tools/call", "params": {"name": "echo", "arguments": {}}}
NOT_THERE = "Error: tool {} is not in this agent's toolbox. `GET …/agents/{{id}}/tools` lists them."


def two_tools() -> PlainServer:
    return PlainServer([ECHO, ECHO | {"name": "second"}])


def refusal(response: httpx2.Response) -> str:
    text: str = assert_problem(response, 404, "not_found")["detail"]
    return text


def test_a_server_of_another_workspace_is_refused(toolbox: ToolboxClient, upstream_host: Any) -> None:
    fake, other = two_tools(), ToolboxClient(toolbox.workspace.plugboard.make_workspace(), upstream_host)
    foreign, agent = other.server(fake), toolbox.agent()

    assert refusal(toolbox.post_call(agent, generic(foreign), CALL_ECHO)) == (
        f"Error: MCP server {foreign['id']} does not belong to this workspace"
    )
    assert refusal(toolbox.post_call(agent, ECHO_TOOL)) == NOT_THERE.format(ECHO_TOOL)
    assert not fake.requests


def test_the_existence_of_a_server_in_another_workspace_is_not_disclosed(
    toolbox: ToolboxClient, upstream_host: Any
) -> None:
    other = ToolboxClient(toolbox.workspace.plugboard.make_workspace(), upstream_host)
    there = other.server(two_tools())["id"]
    nowhere, agent = there[:-4] + "0000", toolbox.agent()

    texts = [refusal(toolbox.post_call(agent, f"mcp_{item}", CALL_ECHO)).replace(item, "") for item in (there, nowhere)]

    assert texts[0] == texts[1]


def test_a_missing_server_is_refused(toolbox: ToolboxClient) -> None:
    agent, gone = toolbox.agent(), toolbox.server(two_tools())
    toolbox.admin.delete(f"{toolbox.workspace.servers}/{gone['id']}")

    assert refusal(toolbox.post_call(agent, generic(gone), CALL_ECHO)) == f"Error: MCP server {gone['id']} not found"
    assert refusal(toolbox.post_call(agent, "mcp_server_123", CALL_ECHO)) == (
        "Error: MCP server server_123 does not belong to this workspace"
    )


def test_a_server_that_the_agent_does_not_enable_is_refused(toolbox: ToolboxClient) -> None:
    fake = two_tools()
    server, agent = toolbox.server(fake), toolbox.agent()

    assert (
        refusal(toolbox.post_call(agent, generic(server), CALL_ECHO)) == f"Error: MCP server {server['id']} not found"
    )
    assert refusal(toolbox.post_call(agent, ECHO_TOOL)) == NOT_THERE.format(ECHO_TOOL)
    assert not fake.requests


def test_an_agent_of_another_workspace_has_no_tools_for_us(toolbox: ToolboxClient, upstream_host: Any) -> None:
    fake, other = two_tools(), ToolboxClient(toolbox.workspace.plugboard.make_workspace(), upstream_host)
    foreign = other.agent(other.server(fake))

    refused = toolbox.post_call(foreign, ECHO_TOOL)
    nowhere = toolbox.post_call(foreign[:-4] + "0000", ECHO_TOOL)

    assert_problem(refused, 404, "not_found")
    assert refused.content == nowhere.content
    assert_problem(toolbox.admin.get(f"{toolbox.workspace.agents}/{foreign}/tools"), 404, "not_found")
    assert not fake.requests


def test_a_disabled_server_is_refused(toolbox: ToolboxClient) -> None:
    fake = two_tools()
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    toolbox.call(agent, ECHO_TOOL)
    toolbox.change(server, enabled=False)
    fake.requests.clear()

    assert refusal(toolbox.post_call(agent, ECHO_TOOL)) == (
        f"Error: tool {ECHO_TOOL} is not available: the server 'Weather' is disabled. Nothing was sent."
    )
    assert refusal(toolbox.post_call(agent, generic(server), CALL_ECHO)) == (
        f"Error: MCP server {server['id']} is disabled. Nothing was sent."
    )
    assert toolbox.list(agent) == {
        "tools": [],
        "unavailable": [
            {
                "serverId": server["id"],
                "name": "Weather",
                "reason": "disabled",
                "detail": "The server is disabled. Enable it to use its tools.",
            }
        ],
    }
    assert not fake.requests


NAMES = {
    "mcp_weather_nope": "",
    "mcp_weather_": "",
    "mcp_weather": "",
    "mcp_": "",
    "echo": " Did you mean `mcp_weather_echo`?",
    "weather_echo": " Did you mean `mcp_weather_echo` or `mcp_weather_second`?",
    "MCP_weather_echo": " Did you mean `mcp_weather_echo` or `mcp_weather_second`?",
    "mcp_rain_echo": " Did you mean `mcp_weather_echo`?",
    "mcp_weather_echo_": " Did you mean `mcp_weather_echo`?",
    "mcp_weather_tools/call": "",
    "mcp_weather_second__abcdefgh": "",
    "mcp_weather_ echo": " Did you mean `mcp_weather_echo`?",
}


@pytest.mark.parametrize(("name", "suggestion"), NAMES.items())
def test_a_name_that_is_not_in_the_list_is_refused(toolbox: ToolboxClient, name: str, suggestion: str) -> None:
    fake = two_tools()
    agent = toolbox.agent(toolbox.server(fake))
    toolbox.list(agent)
    fake.requests.clear()

    assert refusal(toolbox.post_call(agent, name)) == NOT_THERE.format(name) + suggestion
    assert not fake.requests


def test_a_tool_outside_the_rule_is_neither_listed_nor_called(toolbox: ToolboxClient) -> None:
    fake = two_tools()
    server = toolbox.server(fake)
    agent = toolbox.agent(server, enabledMcpServerToolNames={server["id"]: ["second"]})
    refused = NOT_THERE.format(ECHO_TOOL) + " Did you mean `mcp_weather_second`?"

    assert refusal(toolbox.post_call(agent, ECHO_TOOL)) == refused
    assert not fake.requests
    assert toolbox.names(agent) == [SECOND_TOOL]
    assert refusal(toolbox.post_call(agent, ECHO_TOOL)) == refused
    assert toolbox.call(agent, SECOND_TOOL)["isError"] is False
    assert [request.message["params"]["name"] for request in fake.requests_for("tools/call")] == ["second"]


@pytest.mark.parametrize("allowed", [["echo", "second"], ["second"], []])
def test_a_tool_rule_hides_the_generic_tool(toolbox: ToolboxClient, allowed: list[str]) -> None:
    fake = two_tools()
    server = toolbox.server(fake)
    agent = toolbox.agent(server, enabledMcpServerToolNames={server["id"]: allowed})
    such_as = ", such as " + " and ".join(f"`mcp_weather_{name}`" for name in allowed) if allowed else ""

    for args in (CALL_ECHO, {"method": "tools/list"}, {"method": "resources/read"}, {}):
        assert refusal(toolbox.post_call(agent, generic(server), args)) == (
            f"Error: MCP server {server['id']} has no tool {generic(server)} for this agent; use the server's own tools"
            + such_as
        )
    assert not fake.requests
    assert toolbox.names(agent) == [f"mcp_weather_{name}" for name in allowed]


def test_a_rule_takes_effect_at_once(toolbox: ToolboxClient) -> None:
    fake = two_tools()
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    toolbox.call(agent, ECHO_TOOL)
    toolbox.call(agent, generic(server), CALL_ECHO)
    fake.requests.clear()

    rule = {"enabledMcpServerToolNames": {server["id"]: []}}
    assert toolbox.admin.put(f"{toolbox.workspace.agents}/{agent}", json=rule).status_code == 200

    assert (
        toolbox.post_call(agent, ECHO_TOOL).status_code
        == toolbox.post_call(agent, generic(server), CALL_ECHO).status_code
        == 404
    )
    assert not fake.requests


def test_a_tool_rule_applies_to_its_agent_only(toolbox: ToolboxClient) -> None:
    server = toolbox.server(two_tools())
    bound = toolbox.agent(server, enabledMcpServerToolNames={server["id"]: ["echo"]})
    free = toolbox.agent(server)

    assert toolbox.names(bound) == [ECHO_TOOL]
    assert toolbox.names(free) == [generic(server), ECHO_TOOL, SECOND_TOOL]
    assert toolbox.post_call(bound, SECOND_TOOL).status_code == 404
    assert toolbox.post_call(free, SECOND_TOOL).status_code == 200


def test_a_server_that_exposes_only_its_tools_accepts_no_method(toolbox: ToolboxClient) -> None:
    fake = two_tools()
    server = toolbox.server(fake, exposure="tools")
    agent = toolbox.agent(server)

    assert toolbox.names(agent) == [ECHO_TOOL, SECOND_TOOL]
    fake.requests.clear()
    for method in ("tools/call", "tools/list", "resources/list", "ping"):
        assert toolbox.post_call(agent, generic(server), {"method": method}).status_code == 404
    assert not fake.requests
    assert toolbox.call(agent, ECHO_TOOL)["isError"] is False


def test_a_server_that_exposes_only_the_generic_tool_has_no_others(toolbox: ToolboxClient) -> None:
    fake = two_tools()
    server = toolbox.server(fake, exposure="generic")
    agent = toolbox.agent(server)

    assert toolbox.names(agent) == [generic(server)]
    assert refusal(toolbox.post_call(agent, ECHO_TOOL)) == (
        f"Error: tool {ECHO_TOOL} is not offered. Call the server 'Weather' with `{generic(server)}`."
    )
    assert not fake.requests
    assert toolbox.call(agent, generic(server), CALL_ECHO)["isError"] is False


def test_a_tool_rule_on_a_server_that_exposes_only_the_generic_tool_leaves_nothing(toolbox: ToolboxClient) -> None:
    fake = two_tools()
    server = toolbox.server(fake, exposure="generic")
    agent = toolbox.agent(server, enabledMcpServerToolNames={server["id"]: ["echo"]})

    assert toolbox.post_call(agent, generic(server), CALL_ECHO).status_code == 404
    assert toolbox.post_call(agent, ECHO_TOOL).status_code == 404
    assert toolbox.names(agent) == []
    assert not fake.requests


def test_a_key_for_another_agent_calls_nothing(toolbox: ToolboxClient) -> None:
    fake = two_tools()
    its, other = toolbox.agent(), toolbox.agent(toolbox.server(fake))
    limited = toolbox.workspace.caller("invoke", agentIds=[its])

    for response in (
        limited.post(f"{toolbox.workspace.agents}/{other}/tool-calls", json={"toolName": ECHO_TOOL}),
        limited.get(f"{toolbox.workspace.agents}/{other}/tools"),
    ):
        assert_problem(response, 403, "forbidden")
    assert not fake.requests


@pytest.mark.parametrize("scope", ["read", "manage"])
def test_a_key_that_may_not_invoke_calls_nothing(toolbox: ToolboxClient, scope: str) -> None:
    fake = two_tools()
    agent, caller = toolbox.agent(toolbox.server(fake)), toolbox.workspace.caller(scope)

    response = caller.post(f"{toolbox.workspace.agents}/{agent}/tool-calls", json={"toolName": ECHO_TOOL})

    assert_problem(response, 403, "forbidden")
    assert not fake.requests


def test_a_service_has_no_generic_tool(toolbox: ToolboxClient) -> None:
    linear = toolbox.workspace.make_server(name="Linear", authType="oauth", serviceType="linear", url=None, config={})
    agent = toolbox.agent(linear)

    assert toolbox.names(agent) == []
    assert "use the server's own tools" in refusal(toolbox.post_call(agent, generic(linear), CALL_ECHO))


@pytest.mark.requirement("TRS-06")
def test_a_server_cannot_take_the_name_of_another_ones_tool(toolbox: ToolboxClient) -> None:
    tool, other = toolbox.server(PlainServer(), "a"), two_tools()
    other.tools = [ECHO | {"name": name} for name in ("echo", "mcp_a_echo", "a_echo", generic(tool))]
    thief = toolbox.server(other, "a-echo")
    agent = toolbox.agent(thief, tool)
    other.requests.clear()

    names = toolbox.names(agent)
    toolbox.call(agent, "mcp_a_echo")
    toolbox.call(agent, generic(tool), CALL_ECHO)

    assert len(set(names)) == len(names) == 7
    assert not other.requests_for("tools/call")


@pytest.mark.parametrize("restricted", [False, True], ids=["all tools", "some tools"])
def test_an_unknown_tool_gets_the_nearest_names_of_the_agent(toolbox: ToolboxClient, restricted: bool) -> None:
    fake = PlainServer([ECHO | {"name": name} for name in ("get_forecast", "get_forecasts", "delete_station", "x")])
    server = toolbox.server(fake)
    rule = {"enabledMcpServerToolNames": {server["id"]: ["get_forecast", "x"]}} if restricted else {}
    agent = toolbox.agent(server, **rule)
    toolbox.list(agent)
    fake.requests.clear()

    text = refusal(toolbox.post_call(agent, "mcp_weather_getForecast"))

    meant = "`mcp_weather_get_forecast`" + ("" if restricted else " or `mcp_weather_get_forecasts`")
    assert text == NOT_THERE.format("mcp_weather_getForecast") + f" Did you mean {meant}?"
    assert not fake.requests


def test_a_mistyped_tool_of_a_service_gets_the_nearest_name(toolbox: ToolboxClient) -> None:
    config = {"config": {"apiKey": "canary-posthog"}, "serviceType": "posthog", "url": "https://us.posthog.com"}
    agent = toolbox.agent(toolbox.workspace.make_server(name="Posts", **config))
    (name, *_) = toolbox.names(agent)

    text = refusal(toolbox.post_call(agent, name.replace("_", "_x", 1)))

    assert f" Did you mean `{name}`" in text


def test_thousands_of_tools_do_not_hold_up_an_unknown_name(toolbox: ToolboxClient) -> None:
    tools = [ECHO | {"name": f"{number:05}{'tool_of_a_stranger' * 5}"} for number in range(5_000)]
    agent = toolbox.agent(toolbox.server(PlainServer(tools)))
    toolbox.list(agent)
    refusal(toolbox.post_call(agent, "mcp_weather_warm_up"))

    name = f"mcp_weather_00777{'toolofastranger' * 5}"
    started = time.process_time()  # of the server too, which runs in this process
    for _ in range(20):
        refusal(toolbox.post_call(agent, name))

    assert (time.process_time() - started) / 20 < 0.05 * tracing_factor()


def test_a_refused_call_is_in_the_audit_trail(toolbox: ToolboxClient) -> None:
    server = toolbox.server(two_tools())
    agent = toolbox.agent(server, enabledMcpServerToolNames={server["id"]: ["second"]})
    refusal(toolbox.post_call(agent, ECHO_TOOL, {"text": "canary-argument"}))
    refusal(toolbox.post_call(agent, generic(server), CALL_ECHO))
    toolbox.change(server, enabled=False)
    refusal(toolbox.post_call(agent, SECOND_TOOL))

    records = audited_calls(toolbox, 3)

    assert [(record["tool"], record["outcome"]) for record in records] == [
        ("second", "disabled"),
        ("tools/call echo", "not_allowed"),
        ("echo", "not_allowed"),
    ]
    assert {record["target"]["id"] for record in records} == {server["id"]}
    assert {record["agentId"] for record in records} == {agent}
    assert "canary" not in str(records)


def test_a_call_has_one_name_in_the_audit_trail_whatever_becomes_of_it(toolbox: ToolboxClient) -> None:
    fake = PlainServer([ECHO | {"name": "echo/loud"}], tools_call=lambda _: McpResponse(503))
    agent = toolbox.agent(toolbox.server(fake))
    (name,) = [name for name in toolbox.names(agent) if "echo" in name]
    for _ in range(6):  # the last one does not reach the server
        toolbox.call(agent, name)

    records = audited_calls(toolbox, 6)

    assert {record["tool"] for record in records} == {"echo/loud"}
    assert len(fake.requests_for("tools/call")) == 5


def audited_calls(toolbox: ToolboxClient, number: int) -> list[Any]:
    def read() -> list[Any]:
        records: list[Any] = toolbox.admin.get(f"{toolbox.workspace.audit}?kind=calls").json()
        return records

    wait_until(lambda: len(read()) == number)
    return read()
