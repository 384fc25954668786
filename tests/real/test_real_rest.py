"""Real servers, reached through a served Plugboard as its users reach them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.real.catalogue import (
    EVERYTHING,
    EVERYTHING_SSE,
    PLAIN,
    RESTARTED,
    SDK,
    SERVERS,
    RealServer,
    Running,
    named,
    running,
)
from tests.real.rest_client import Json, RestClient

OF_EVERYTHING = pytest.mark.parametrize("server", [EVERYTHING, EVERYTHING_SSE], ids=named)


def name_of(client: RestClient, server: Json, upstream_name: str) -> str:
    return next(tool["name"] for tool in client.tools(server)["tools"] if tool["upstreamName"] == upstream_name)


def assert_answered(run: Running, result: Json) -> None:
    assert result["isError"] is False, result
    assert run.server.says in result["text"]
    assert run.server.structured in (None, result.get("structuredContent"))


def test_a_check_reports_the_protocol(run: Running, client: RestClient) -> None:
    checked = client.check(client.server(run))

    assert (checked["status"], checked["toolCount"]) == ("ok", len(run.server.tools)), checked
    assert checked["protocol"] == f"{run.server.kind} {run.server.version or ''}".strip()
    assert checked["serverInfo"].get("name") == run.server.calls_itself


def test_its_tools_are_listed(run: Running, client: RestClient) -> None:
    listed = client.tools(client.server(run))

    assert {tool["upstreamName"] for tool in listed["tools"]} == run.server.tools
    assert listed["unavailable"] == []


def test_an_agent_lists_and_calls_its_tools(run: Running, client: RestClient) -> None:
    server = client.server(run)
    agent = client.agent(server)

    listed = client.agent_tools(agent)
    result = client.call(agent, name_of(client, server, run.server.tool), run.args)

    assert listed["unavailable"] == []
    names = {tool["name"] for tool in listed["tools"]}
    assert names == {f"mcp_{server['id']}", *(tool["name"] for tool in client.tools(server)["tools"])}
    assert len(names) == len(run.server.tools) + 1
    assert_answered(run, result)


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_every_tool_is_listed_in_the_formats_of_vendors(run: Running, client: RestClient, form: str) -> None:
    listed = client.agent_tools(client.agent(client.server(run)), form)

    assert listed["unavailable"] == []
    assert len(listed["tools"]) == len(run.server.tools) + 1


def test_any_method_can_be_called_by_the_generic_tool(run: Running, client: RestClient) -> None:
    server = client.server(run)
    agent = client.agent(server)
    generic = f"mcp_{server['id']}"
    params = {"name": run.server.tool, "arguments": run.args}

    listed = client.call(agent, generic, {"method": "tools/list"})
    result = client.call(agent, generic, {"method": "tools/call", "params": params})

    assert listed["isError"] is False, listed
    assert run.server.tool in listed["text"]
    assert result["isError"] is False, result
    assert run.server.says in result["text"]


def test_an_agent_with_all_servers_has_every_tool(client: RestClient, tmp_path: Path) -> None:
    with ExitStack() as stack:
        runs = [stack.enter_context(running(server, tmp_path / named(server))) for server in SERVERS]
        stored = [client.server(run) for run in runs]
        agent = client.agent(*stored)

        listed = client.agent_tools(agent)
        results = [
            client.call(agent, name_of(client, server, run.server.tool), run.args)
            for server, run in zip(stored, runs, strict=True)
        ]

    assert listed["unavailable"] == []
    assert len({tool["name"] for tool in listed["tools"]}) == sum(len(server.tools) + 1 for server in SERVERS)
    for run, answer in zip(runs, results, strict=True):
        assert_answered(run, answer)


@pytest.mark.parametrize("server", RESTARTED, ids=named)
def test_a_restarted_server_is_called_without_errors(server: RealServer, client: RestClient, tmp_path: Path) -> None:
    with running(server, tmp_path) as run:
        stored = client.server(run)
        agent, tool = client.agent(stored), name_of(client, stored, server.tool)
        assert_answered(run, client.call(agent, tool, run.args))
        run.restart()
        assert_answered(run, client.call(agent, tool, run.args))


def test_a_stopped_server_costs_only_its_own_tools(client: RestClient, tmp_path: Path) -> None:
    with running(EVERYTHING, tmp_path / "everything") as run, running(SDK, tmp_path / "sdk") as other:
        stopped, going = client.server(run), client.server(other)
        agent = client.agent(stopped, going)
        run.stop()
        checked, listed = client.check(stopped), client.agent_tools(agent)

        assert checked["status"] == "unreachable", checked
        assert [item["serverId"] for item in listed["unavailable"]] == [stopped["id"]]
        assert_answered(other, client.call(agent, name_of(client, going, SDK.tool), other.args))


@OF_EVERYTHING
def test_an_image_is_passed_on(server: RealServer, client: RestClient, tmp_path: Path) -> None:
    with running(server, tmp_path) as run:
        stored = client.server(run)
        result = client.call(client.agent(stored), name_of(client, stored, "get-tiny-image"), {})

    assert [part["mimeType"] for part in result["content"] if part["type"] == "image"] == ["image/png"]


@OF_EVERYTHING
def test_a_call_that_reports_progress_is_waited_for(server: RealServer, client: RestClient, tmp_path: Path) -> None:
    with running(server, tmp_path) as run:
        stored = client.server(run)
        tool = name_of(client, stored, "trigger-long-running-operation")
        result = client.call(client.agent(stored), tool, {"duration": 1, "steps": 5})

    assert "Long running operation completed" in result["text"]


@OF_EVERYTHING
def test_invalid_arguments_get_an_error_that_says_how_to_correct_them(
    server: RealServer, client: RestClient, tmp_path: Path
) -> None:
    with running(server, tmp_path) as run:
        stored = client.server(run)
        result = client.call(client.agent(stored), name_of(client, stored, server.tool), {"location": "Oslo"})

    assert result["isError"] is True
    assert result["error"] == {"kind": "invalid_arguments"}
    assert "Chicago" in result["text"]


@OF_EVERYTHING
def test_a_resource_is_read_by_the_generic_tool(server: RealServer, client: RestClient, tmp_path: Path) -> None:
    with running(server, tmp_path) as run:
        stored = client.server(run)
        params = {"uri": "demo://resource/static/document/features.md"}
        result = client.call(
            client.agent(stored), f"mcp_{stored['id']}", {"method": "resources/read", "params": params}
        )

    assert result["isError"] is False, result
    assert "trigger-long-running-operation" in result["text"]


def test_a_plain_json_rpc_error_is_passed_on_unchanged(client: RestClient, tmp_path: Path) -> None:
    with running(PLAIN, tmp_path) as run:
        stored = client.server(run)
        result = client.call(client.agent(stored), name_of(client, stored, "forecast"), {"city": "Atlantis"})

    assert result["isError"] is True
    assert result["text"] == "Error calling MCP server: Internal error - Location not found"
