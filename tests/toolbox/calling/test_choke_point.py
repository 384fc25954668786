"""What an agent may not call is refused, however it is called, and nothing of it reaches an upstream."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from demo.mcp_servers import ECHO, PlainServer
from tests.http.operations_on_workspace import assert_problem
from tests.toolbox.toolbox_client import ToolboxClient, generic

ECHO_TOOL, SECOND_TOOL = "mcp_weather_echo", "mcp_weather_second"
CALL_ECHO = {"method": "tools/call", "params": {"name": "echo", "arguments": {}}}
NOT_THERE = "Error: tool {} is not in this agent's toolbox. Its tools are listed at `tools`."


def two_tools() -> PlainServer:
    return PlainServer([ECHO, ECHO | {"name": "second"}])


def refusal(response: httpx2.Response) -> str:
    text: str = assert_problem(response, 404, "not_found")["detail"]
    return text


def test_a_server_of_another_workspace_is_refused(office: ToolboxClient, street: Any) -> None:
    fake, other = two_tools(), ToolboxClient(office.workspace.plugboard.make_workspace(), street)
    foreign, agent = other.server(fake), office.agent()

    assert refusal(office.post_call(agent, generic(foreign), CALL_ECHO)) == (
        f"Error: MCP server {foreign['id']} does not belong to this workspace"
    )
    assert refusal(office.post_call(agent, ECHO_TOOL)) == NOT_THERE.format(ECHO_TOOL)
    assert not fake.requests


def test_the_existence_of_a_server_in_another_workspace_is_not_disclosed(office: ToolboxClient, street: Any) -> None:
    other = ToolboxClient(office.workspace.plugboard.make_workspace(), street)
    there = other.server(two_tools())["id"]
    nowhere, agent = there[:-4] + "0000", office.agent()

    texts = [refusal(office.post_call(agent, f"mcp_{item}", CALL_ECHO)).replace(item, "") for item in (there, nowhere)]

    assert texts[0] == texts[1]


def test_a_missing_server_is_refused(office: ToolboxClient) -> None:
    agent, gone = office.agent(), office.server(two_tools())
    office.admin.delete(f"{office.workspace.servers}/{gone['id']}")

    assert refusal(office.post_call(agent, generic(gone), CALL_ECHO)) == f"Error: MCP server {gone['id']} not found"
    assert refusal(office.post_call(agent, "mcp_server_123", CALL_ECHO)) == (
        "Error: MCP server server_123 does not belong to this workspace"
    )


def test_a_server_that_the_agent_does_not_enable_is_refused(office: ToolboxClient) -> None:
    fake = two_tools()
    server, agent = office.server(fake), office.agent()

    assert refusal(office.post_call(agent, generic(server), CALL_ECHO)) == f"Error: MCP server {server['id']} not found"
    assert refusal(office.post_call(agent, ECHO_TOOL)) == NOT_THERE.format(ECHO_TOOL)
    assert not fake.requests


def test_an_agent_of_another_workspace_has_no_tools_for_us(office: ToolboxClient, street: Any) -> None:
    fake, other = two_tools(), ToolboxClient(office.workspace.plugboard.make_workspace(), street)
    foreign = other.agent(other.server(fake))

    refused = office.post_call(foreign, ECHO_TOOL)
    nowhere = office.post_call(foreign[:-4] + "0000", ECHO_TOOL)

    assert_problem(refused, 404, "not_found")
    assert refused.content == nowhere.content
    assert_problem(office.admin.get(f"{office.workspace.agents}/{foreign}/tools"), 404, "not_found")
    assert not fake.requests


def test_a_disabled_server_is_refused(office: ToolboxClient) -> None:
    fake = two_tools()
    server = office.server(fake)
    agent = office.agent(server)
    office.call(agent, ECHO_TOOL)
    office.change(server, enabled=False)
    fake.requests.clear()

    assert refusal(office.post_call(agent, ECHO_TOOL)) == NOT_THERE.format(ECHO_TOOL)
    assert (
        refusal(office.post_call(agent, generic(server), CALL_ECHO)) == f"Error: MCP server {server['id']} is disabled"
    )
    assert office.list(agent) == {
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


NAMES = (
    "mcp_weather_nope mcp_weather_ mcp_weather mcp_ echo weather_echo MCP_weather_echo mcp_rain_echo mcp_weather_echo_"
)


@pytest.mark.parametrize(
    "name", [*NAMES.split(), "mcp_weather_tools/call", "mcp_weather_second__abcdefgh", "mcp_weather_ echo"]
)
def test_a_name_that_is_not_in_the_list_is_refused(office: ToolboxClient, name: str) -> None:
    fake = two_tools()
    agent = office.agent(office.server(fake))
    office.list(agent)
    fake.requests.clear()

    assert refusal(office.post_call(agent, name)) == NOT_THERE.format(name)
    assert not fake.requests


def test_a_tool_outside_the_rule_is_neither_listed_nor_called(office: ToolboxClient) -> None:
    fake = two_tools()
    server = office.server(fake)
    agent = office.agent(server, enabledMcpServerToolNames={server["id"]: ["second"]})

    assert refusal(office.post_call(agent, ECHO_TOOL)) == NOT_THERE.format(ECHO_TOOL)
    assert not fake.requests
    assert office.names(agent) == [SECOND_TOOL]
    assert refusal(office.post_call(agent, ECHO_TOOL)) == NOT_THERE.format(ECHO_TOOL)
    assert office.call(agent, SECOND_TOOL)["isError"] is False
    assert [request.message["params"]["name"] for request in fake.requests_for("tools/call")] == ["second"]


@pytest.mark.parametrize("allowed", [["echo", "second"], ["second"], []])
def test_a_tool_rule_hides_the_generic_tool(office: ToolboxClient, allowed: list[str]) -> None:
    fake = two_tools()
    server = office.server(fake)
    agent = office.agent(server, enabledMcpServerToolNames={server["id"]: allowed})

    for args in (CALL_ECHO, {"method": "tools/list"}, {"method": "resources/read"}, {}):
        assert refusal(office.post_call(agent, generic(server), args)) == (
            f"Error: MCP server {server['id']} has no tool {generic(server)} for this agent; use the server's own tools"
        )
    assert not fake.requests
    assert office.names(agent) == [f"mcp_weather_{name}" for name in allowed]


def test_a_rule_takes_effect_at_once(office: ToolboxClient) -> None:
    fake = two_tools()
    server = office.server(fake)
    agent = office.agent(server)
    office.call(agent, ECHO_TOOL)
    office.call(agent, generic(server), CALL_ECHO)
    fake.requests.clear()

    rule = {"enabledMcpServerToolNames": {server["id"]: []}}
    assert office.admin.put(f"{office.workspace.agents}/{agent}", json=rule).status_code == 200

    assert (
        office.post_call(agent, ECHO_TOOL).status_code
        == office.post_call(agent, generic(server), CALL_ECHO).status_code
        == 404
    )
    assert not fake.requests


def test_a_tool_rule_applies_to_its_agent_only(office: ToolboxClient) -> None:
    server = office.server(two_tools())
    bound = office.agent(server, enabledMcpServerToolNames={server["id"]: ["echo"]})
    free = office.agent(server)

    assert office.names(bound) == [ECHO_TOOL]
    assert office.names(free) == [generic(server), ECHO_TOOL, SECOND_TOOL]
    assert office.post_call(bound, SECOND_TOOL).status_code == 404
    assert office.post_call(free, SECOND_TOOL).status_code == 200


def test_a_server_that_exposes_only_its_tools_accepts_no_method(office: ToolboxClient) -> None:
    fake = two_tools()
    server = office.server(fake, exposure="tools")
    agent = office.agent(server)

    assert office.names(agent) == [ECHO_TOOL, SECOND_TOOL]
    fake.requests.clear()
    for method in ("tools/call", "tools/list", "resources/list", "ping"):
        assert office.post_call(agent, generic(server), {"method": method}).status_code == 404
    assert not fake.requests
    assert office.call(agent, ECHO_TOOL)["isError"] is False


def test_a_server_that_exposes_only_the_generic_tool_has_no_others(office: ToolboxClient) -> None:
    fake = two_tools()
    server = office.server(fake, exposure="generic")
    agent = office.agent(server)

    assert office.names(agent) == [generic(server)]
    assert refusal(office.post_call(agent, ECHO_TOOL)) == NOT_THERE.format(ECHO_TOOL)
    assert not fake.requests
    assert office.call(agent, generic(server), CALL_ECHO)["isError"] is False


def test_a_tool_rule_on_a_server_that_exposes_only_the_generic_tool_leaves_nothing(office: ToolboxClient) -> None:
    fake = two_tools()
    server = office.server(fake, exposure="generic")
    agent = office.agent(server, enabledMcpServerToolNames={server["id"]: ["echo"]})

    assert office.post_call(agent, generic(server), CALL_ECHO).status_code == 404
    assert office.post_call(agent, ECHO_TOOL).status_code == 404
    assert office.names(agent) == []
    assert not fake.requests


def test_a_key_for_another_agent_calls_nothing(office: ToolboxClient) -> None:
    fake = two_tools()
    its, other = office.agent(), office.agent(office.server(fake))
    limited = office.workspace.caller("invoke", agentIds=[its])

    for response in (
        limited.post(f"{office.workspace.agents}/{other}/tool-calls", json={"toolName": ECHO_TOOL}),
        limited.get(f"{office.workspace.agents}/{other}/tools"),
    ):
        assert_problem(response, 403, "forbidden")
    assert not fake.requests


@pytest.mark.parametrize("scope", ["read", "manage"])
def test_a_key_that_may_not_invoke_calls_nothing(office: ToolboxClient, scope: str) -> None:
    fake = two_tools()
    agent, caller = office.agent(office.server(fake)), office.workspace.caller(scope)

    response = caller.post(f"{office.workspace.agents}/{agent}/tool-calls", json={"toolName": ECHO_TOOL})

    assert_problem(response, 403, "forbidden")
    assert not fake.requests


def test_a_service_has_no_generic_tool(office: ToolboxClient) -> None:
    linear = office.workspace.make_server(name="Linear", authType="oauth", serviceType="linear", url=None, config={})
    agent = office.agent(linear)

    assert office.names(agent) == []
    assert "use the server's own tools" in refusal(office.post_call(agent, generic(linear), CALL_ECHO))


@pytest.mark.requirement("TRS-06")
def test_a_server_cannot_take_the_name_of_another_ones_tool(office: ToolboxClient) -> None:
    tool, other = office.server(PlainServer(), "a"), two_tools()
    other.tools = [ECHO | {"name": name} for name in ("echo", "mcp_a_echo", "a_echo", generic(tool))]
    thief = office.server(other, "a-echo")
    agent = office.agent(thief, tool)
    other.requests.clear()

    names = office.names(agent)
    office.call(agent, "mcp_a_echo")
    office.call(agent, generic(tool), CALL_ECHO)

    assert len(set(names)) == len(names) == 7
    assert not other.requests_for("tools/call")
