"""What the log says of the tools that are left out of a server's list."""

import json
import logging
from typing import Any

import pytest

from api.kit.logs import JsonLines
from demo.mcp_servers import McpRequest, ModernServer, PlainServer, result
from tests.toolbox.toolbox_client import SECRET, ToolboxClient

ANNOTATED: dict[str, Any] = {"type": "string", "x-mcp-header": SECRET}
WRONG: dict[str, Any] = {"type": "object", "x-mcp-header": "A"}


def repeating_its_credential(request: McpRequest) -> Any:
    """Its tools are named after the credential that it received, and so is one header for two parameters."""
    name = request.headers["authorization"].removeprefix("Bearer ")
    schemas = {name: {"a": WRONG}, f"{name}2": {"a": ANNOTATED, "b": ANNOTATED}, "fine": {}}
    tools = [{"name": name, "inputSchema": {"properties": schema}} for name, schema in schemas.items()]
    return result(request, {"tools": [*tools, {}, {"name": ""}, 7]})


def test_the_log_has_counts_and_reasons_and_nothing_of_the_server(
    toolbox: ToolboxClient, caplog: pytest.LogCaptureFixture
) -> None:
    server = toolbox.server(ModernServer(tools_list=repeating_its_credential))

    with caplog.at_level(logging.INFO):
        toolbox.check(server)

    logged = [JsonLines().format(record) for record in caplog.records]
    (line,) = [entry for text in logged if (entry := json.loads(text))["message"] == "tools left out"]
    assert SECRET not in "".join(logged)
    assert (line["level"], line["workspace"], line["server"]) == ("warning", toolbox.workspace.id, server["id"])
    assert line["detail"] == (
        "1: an annotated parameter is not a string, integer or boolean; 1: two parameters use the same header; "
        "3: it has no name, or one that is too long"
    )


@pytest.mark.parametrize("kind", [PlainServer, ModernServer])
def test_the_log_has_one_line_for_thousands_of_tools(
    toolbox: ToolboxClient, caplog: pytest.LogCaptureFixture, kind: type[PlainServer | ModernServer]
) -> None:
    server = toolbox.server(kind(tools_list=lambda request: result(request, {"tools": [{}] * 3000})))

    with caplog.at_level(logging.INFO):
        toolbox.check(server)

    logged = "".join(JsonLines().format(record) for record in caplog.records)
    assert logged.count("3000: it has no name, or one that is too long") == 1
    assert len(logged) < 10_000


@pytest.mark.parametrize("value", ["x" * 8193, "é" * 3073], ids=["plain", "encoded"])
def test_an_argument_that_is_too_long_for_a_header_is_refused_before_it_is_sent(
    toolbox: ToolboxClient, value: str
) -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    fake = ModernServer([{"name": "sql", "inputSchema": schema}])
    agent = toolbox.agent(toolbox.server(fake))
    toolbox.list(agent)

    refused = toolbox.call(agent, "mcp_weather_sql", {"region": value})

    assert refused["error"]["kind"] == "invalid_arguments"
    assert "The argument `region` is too long" in refused["content"][0]["text"]
    assert "8192 bytes" in refused["content"][0]["text"]
    assert "tools/call" not in fake.methods
    assert not toolbox.call(agent, "mcp_weather_sql", {"region": "x" * 8192})["isError"]
