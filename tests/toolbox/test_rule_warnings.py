"""Names in tool rules that a server does not list come back as warnings, and stand in the agent until they fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from demo.mcp_servers import PlainServer, result
from tests.connections.workspace_owner import in_another_process
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, Workspace, served
from tests.system.test_metrics_route import values
from tests.toolbox.toolbox_client import ToolboxClient

Json = dict[str, Any]
RULES = "enabledMcpServerToolNames"
NAMES = ("get_forecast", "get_alerts", "Get Weather!")


def tools(*names: str) -> list[Json]:
    return [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in names]


def listed(toolbox: ToolboxClient, *names: str, **changed: Any) -> Json:
    """A server whose list is known."""
    server = toolbox.server(PlainServer(tools(*(names or NAMES))), **changed)
    toolbox.tools_of(server)
    return server


def make(toolbox: ToolboxClient, server: Json, *names: str) -> Json:
    return toolbox.workspace.make_agent(enabledMcpServerIds=[server["id"]], **{RULES: {server["id"]: list(names)}})


def put(toolbox: ToolboxClient, agent: Json, **fields: Any) -> Json:
    response = toolbox.admin.put(f"{toolbox.workspace.agents}/{agent['id']}", json=fields)
    assert response.status_code == 200, response.text
    changed: Json = response.json()
    return changed


def read(toolbox: ToolboxClient, agent: Json) -> Json:
    response = toolbox.admin.get(f"{toolbox.workspace.agents}/{agent['id']}")
    assert response.status_code == 200, response.text
    found: Json = response.json()
    return found


def warning(server: Json, name: str, nearest: str | None = None) -> str:
    text = f"The server '{server['name']}' lists no tool `{name}` (`{RULES}.{server['id']}`)."
    return f"{text} Did you mean `{nearest}`?" if nearest else text


@pytest.fixture(scope="session")
def beside(connected: Plugboard) -> Iterator[Plugboard]:
    """Another process on the same database."""
    with served(connected.settings) as other:
        yield other


def test_a_mistyped_name_is_answered_with_the_nearest_until_it_fits(toolbox: ToolboxClient) -> None:
    server = listed(toolbox)

    agent = make(toolbox, server, "get_forcast", "get_alerts", "zzz")

    expected = [warning(server, "get_forcast", "get_forecast"), warning(server, "zzz")]
    assert agent["warnings"] == expected
    assert agent[RULES] == {server["id"]: ["get_forcast", "get_alerts", "zzz"]}
    assert read(toolbox, agent) == agent
    assert put(toolbox, agent, description="New")["warnings"] == expected
    fitting = put(toolbox, agent, **{RULES: {server["id"]: ["get_forecast", "get_alerts"]}})
    assert "warnings" not in fitting
    assert "warnings" not in read(toolbox, agent)


def test_a_warning_ends_when_the_server_lists_the_tool(timed_toolbox: ToolboxClient, clock: StillClock) -> None:
    fake = PlainServer(tools("get_forecast"))
    server = timed_toolbox.server(fake)
    timed_toolbox.tools_of(server)
    agent = make(timed_toolbox, server, "get_alerts")
    assert agent["warnings"] == [warning(server, "get_alerts")]

    fake.tools = tools("get_forecast", "get_alerts")
    clock.advance(10)
    timed_toolbox.tools_of(server, refresh="true")

    assert "warnings" not in read(timed_toolbox, agent)


def test_no_request_is_made_for_a_server_whose_list_is_not_known(toolbox: ToolboxClient) -> None:
    fake = PlainServer(tools(*NAMES))
    server = toolbox.server(fake)

    agent = make(toolbox, server, "get_forcast")

    assert "warnings" not in agent
    assert "warnings" not in read(toolbox, agent)
    assert fake.requests == []
    toolbox.check(server)
    assert read(toolbox, agent)["warnings"] == [warning(server, "get_forcast", "get_forecast")]


def test_every_process_knows_a_list_that_one_has_fetched(toolbox: ToolboxClient, beside: Plugboard) -> None:
    server = listed(toolbox)
    mine = toolbox.workspace
    there = ToolboxClient(Workspace(beside, mine.id, mine.key, beside.caller(mine.key)), toolbox.upstream_host)

    agent = make(there, server, "get_forcast")

    assert agent["warnings"] == [warning(server, "get_forcast", "get_forecast")] == read(toolbox, agent)["warnings"]


@pytest.mark.parametrize("name", ["mcp_wether_get_forecast", "get_forcast", "mcp_server_{id}"])
def test_every_process_suggests_the_tools_that_one_has_listed(
    toolbox: ToolboxClient, beside: Plugboard, name: str
) -> None:
    server = listed(toolbox, exposure="tools")
    agent = toolbox.agent(server)
    mine = toolbox.workspace
    there = ToolboxClient(Workspace(beside, mine.id, mine.key, beside.caller(mine.key)), toolbox.upstream_host)

    missing = there.post_call(agent, name.format(id=server["id"].removeprefix("server_")))

    assert missing.status_code == 404
    assert "`mcp_weather_get_forecast`" in missing.json()["detail"]


def test_a_server_at_another_url_is_not_known(toolbox: ToolboxClient) -> None:
    server = listed(toolbox)
    agent = make(toolbox, server, "get_forcast")
    other = PlainServer(tools("get_forcast"))

    toolbox.change(server, url=f"{toolbox.upstream_host.mount(other)}/mcp")

    assert "warnings" not in read(toolbox, agent)


def test_a_renamed_server_stays_known(toolbox: ToolboxClient) -> None:
    server = listed(toolbox)
    agent = make(toolbox, server, "get_forcast")

    renamed = toolbox.change(server, name="Other")

    assert read(toolbox, agent)["warnings"] == [warning(renamed, "get_forcast", "get_forecast")]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("mcp_weather_get_forecast", "get_forecast"),
        ("mcp_weather_Get_Weather___{hash}", "Get Weather!"),
        ("get_forecast", "get_forecast"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_the_name_that_agents_use_means_the_tool(toolbox: ToolboxClient, given: str, stored: str, method: str) -> None:
    server = listed(toolbox)
    aliases = {tool["upstreamName"]: tool["name"] for tool in toolbox.tools_of(server)["tools"]}
    given = aliases["Get Weather!"] if "{hash}" in given else given
    rule = {RULES: {server["id"]: [given]}}

    if method == "POST":
        agent = make(toolbox, server, given)
    else:
        made = toolbox.workspace.make_agent(enabledMcpServerIds=[server["id"]])
        agent = toolbox.admin.request(method, f"{toolbox.workspace.agents}/{made['id']}", json=rule).json()

    assert agent[RULES] == {server["id"]: [stored]}
    assert "warnings" not in agent
    assert toolbox.names(agent["id"]) == [aliases[stored]]
    assert put(toolbox, agent, **rule)["version"] == agent["version"]


def test_both_names_of_a_tool_are_one(toolbox: ToolboxClient) -> None:
    server = listed(toolbox)

    agent = make(toolbox, server, "get_forecast", "mcp_weather_get_forecast")

    assert agent[RULES] == {server["id"]: ["get_forecast"]}


def test_a_tool_with_such_a_name_of_its_own_is_meant_first(toolbox: ToolboxClient) -> None:
    server = listed(toolbox, "mcp_weather_get", "get")

    agent = make(toolbox, server, "mcp_weather_get")

    assert agent[RULES] == {server["id"]: ["mcp_weather_get"]}
    assert toolbox.names(agent["id"]) == ["mcp_weather_mcp_weather_get"]


def test_the_name_that_agents_use_is_understood_before_the_list_is_known(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer(tools(*NAMES)))

    agent = make(toolbox, server, "mcp_weather_get_forecast", "mcp_other_get_forecast")

    assert agent[RULES] == {server["id"]: ["get_forecast", "mcp_other_get_forecast"]}
    assert toolbox.names(agent["id"]) == ["mcp_weather_get_forecast"]


def test_the_tools_of_services_are_always_known(workspace: Workspace) -> None:
    server = workspace.make_server(name="Acme", authType="oauth", serviceType="notion", url=None, config={})
    rules = {server["id"]: ["notion_search_acme", "notion_reed"]}

    agent = workspace.make_agent(enabledMcpServerIds=[server["id"]], **{RULES: rules})

    assert agent[RULES] == {server["id"]: ["notion_search", "notion_reed"]}
    assert agent["warnings"] == [warning(server, "notion_reed", "notion_read")]


def test_a_server_that_is_not_connected_is_not_known(toolbox: ToolboxClient) -> None:
    server = listed(toolbox)
    agent = make(toolbox, server, "get_forcast")

    toolbox.change(server, config={"headerValue": None})

    assert "warnings" not in read(toolbox, agent)


def test_stale_warnings_may_be_sent_back(toolbox: ToolboxClient) -> None:
    server = listed(toolbox)
    agent = make(toolbox, server, "get_forcast")

    corrected = put(toolbox, agent, **agent | {RULES: {server["id"]: ["get_forecast"]}})
    again = put(toolbox, agent, **corrected | {RULES: agent[RULES], "warnings": ["Another."]})

    assert "warnings" not in corrected
    assert again["warnings"] == agent["warnings"]


def test_a_repeated_create_repeats_its_warnings(toolbox: ToolboxClient) -> None:
    server = listed(toolbox)
    draft = {"name": "S", "enabledMcpServerIds": [server["id"]], RULES: {server["id"]: ["get_forcast"]}}

    first, second = (
        toolbox.admin.post(toolbox.workspace.agents, json=draft, headers={"Idempotency-Key": "k"}) for _ in range(2)
    )

    assert first.json() == second.json()
    assert first.json()["warnings"] == [warning(server, "get_forcast", "get_forecast")]


def test_many_warnings_are_counted(toolbox: ToolboxClient) -> None:
    server = listed(toolbox)

    agent = make(toolbox, server, *(f"get_forcast_{number}" for number in range(500)))

    assert len(agent["warnings"]) == 21
    assert agent["warnings"][-1] == "480 more names in tool rules are listed by no server."


def test_a_hostile_name_is_shown_without_what_is_invisible(toolbox: ToolboxClient) -> None:
    server = listed(toolbox, "get_forecast\u202e")

    (text,) = make(toolbox, server, "get_forecast")["warnings"]

    assert "\u202e" not in text


def test_a_server_without_tools_is_known(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer([]))
    toolbox.tools_of(server)

    assert make(toolbox, server, "get_forecast")["warnings"] == [warning(server, "get_forecast")]


def test_a_list_that_is_too_long_to_be_kept_is_not_known(toolbox: ToolboxClient) -> None:
    server = listed(toolbox, *(f"{'t' * 100}_{number}" for number in range(1000)))

    assert "warnings" not in make(toolbox, server, "tt")


def test_a_list_that_changes_all_the_time_is_not_stored_each_time(
    timed_toolbox: ToolboxClient, clock: StillClock
) -> None:
    numbers = iter(range(100))
    fake = PlainServer(tools_list=lambda request: result(request, {"tools": tools(f"tool_{next(numbers)}")}))
    server = timed_toolbox.server(fake)

    for _ in range(5):
        timed_toolbox.tools_of(server, refresh="true")
    agent = make(timed_toolbox, server, "tool_x")
    assert agent["warnings"] == [warning(server, "tool_x", "tool_0")]
    clock.advance(10)
    timed_toolbox.tools_of(server, refresh="true")

    assert read(timed_toolbox, agent)["warnings"] == [warning(server, "tool_x", "tool_5")]


def test_lists_show_agents_without_warnings(toolbox: ToolboxClient) -> None:
    agent = make(toolbox, listed(toolbox), "get_forcast")

    (shown,) = toolbox.admin.get(toolbox.workspace.agents).json()

    assert shown == {name: value for name, value in agent.items() if name != "warnings"}


def test_what_is_known_of_a_server_is_deleted_with_it(toolbox: ToolboxClient) -> None:
    server = listed(toolbox)
    partition = f"WS#{toolbox.workspace.id}"

    def stored() -> list[str]:
        items = in_another_process(toolbox.workspace.plugboard, lambda parts: parts.store.query(partition))
        return [item.key.sk for item in items if server["id"] in item.key.sk]

    assert f"TOOLNAMES#{server['id']}" in stored()
    assert toolbox.admin.delete(f"{toolbox.workspace.servers}/{server['id']}").status_code == 204
    assert stored() == []


def test_the_lists_of_forty_servers_are_read_at_once(toolbox: ToolboxClient) -> None:
    fakes = [PlainServer(tools(f"get_{number}")) for number in range(40)]
    servers = [toolbox.server(fake, f"s{number}") for number, fake in enumerate(fakes)]
    for server in servers:
        toolbox.tools_of(server)
    rules = {server["id"]: [f"get{number}"] for number, server in enumerate(servers)}
    agent = toolbox.workspace.make_agent(enabledMcpServerIds=[*rules], **{RULES: rules})
    requests = [len(fake.requests) for fake in fakes]

    def batches() -> float:
        return values(toolbox.workspace.plugboard, "plugboard_store_seconds_count")[frozenset({"get_many", "ok"})]

    read(toolbox, agent)
    before = batches()
    assert read(toolbox, agent) == agent
    assert batches() == before + 1
    put(toolbox, agent, description="New")
    assert batches() == before + 2

    assert agent["warnings"][:20] == [
        warning(server, f"get{number}", f"get_{number}") for number, server in enumerate(servers[:20])
    ]
    assert [len(fake.requests) for fake in fakes] == requests
