"""Calls in the metrics and in the audit trail, which disclose no arguments."""

from demo.mcp_servers import PlainServer, error
from tests.toolbox.toolbox_client import ToolboxClient, wait_until


def test_calls_are_counted_by_service_and_outcome(toolbox: ToolboxClient) -> None:
    agent = toolbox.agent(toolbox.server(PlainServer(tools_call=lambda request: error(request, -32000, "no"))))
    operator = toolbox.workspace.plugboard.operator

    def counted() -> float:
        lines = operator.get("/metrics").text.splitlines()
        wanted = 'plugboard_tool_calls_total{outcome="upstream_refused",service="external"} '
        return sum(float(line.removeprefix(wanted)) for line in lines if line.startswith(wanted))

    before = counted()
    toolbox.call(agent, "mcp_weather_echo")

    assert counted() == before + 1


def test_gauges_are_exposed(toolbox: ToolboxClient) -> None:
    agent = toolbox.agent(toolbox.server(PlainServer()))
    toolbox.call(agent, "mcp_weather_echo")

    text = toolbox.workspace.plugboard.operator.get("/metrics").text

    for name in ("tool_calls_in_flight", "toolsets_open", "breakers_open", "call_records_waiting"):
        assert f"\nplugboard_{name} " in text
    assert 'plugboard_tool_call_seconds_bucket{le="+Inf",service="external"}' in text


def test_each_call_is_in_the_audit_trail(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer())
    agent = toolbox.agent(server)
    toolbox.call(agent, "mcp_weather_echo", {"text": "canary-argument"})
    audit = toolbox.workspace.audit

    wait_until(lambda: bool(toolbox.admin.get(f"{audit}?kind=calls").json()))
    (record,) = toolbox.admin.get(f"{audit}?kind=calls").json()

    assert record["action"] == "tool.called"
    assert record["target"] == {"type": "server", "id": server["id"], "name": "Weather"}
    assert (record["agentId"], record["tool"], record["outcome"]) == (agent, "echo", "ok")
    assert "canary" not in str(record)
