"""Streams of MCP's first version over HTTP, which stay open for all calls of a server."""

from demo.mcp_servers import LegacyServer, McpRequest, McpResponse, result
from tests.toolbox.toolbox_client import ToolboxClient, failure

MEGABYTE = 1_048_576


def test_a_stream_may_carry_any_number_of_results(toolbox: ToolboxClient) -> None:
    """Twelve megabytes in all; the stream was cut after four, and the calls on it failed."""
    content = {"content": text_of(MEGABYTE)}
    fake = LegacyServer("messages?session=1", tools_call=lambda request: result(request, content))
    agent = toolbox.agent(toolbox.server(fake))

    results = [toolbox.call(agent, "mcp_weather_echo") for _ in range(12)]

    assert not any(result["isError"] for result in results)
    assert len(fake.requests_for("GET")) == 1


def test_an_event_that_is_too_long_ends_the_stream_and_the_next_call_opens_another(toolbox: ToolboxClient) -> None:
    def answer(request: McpRequest) -> McpResponse:
        return result(request, {"content": text_of(request.message["params"]["arguments"]["bytes"])})

    fake = LegacyServer("messages?session=1", tools_call=answer)
    agent = toolbox.agent(toolbox.server(fake))

    kind, text = failure(toolbox.call(agent, "mcp_weather_echo", {"bytes": 5 * MEGABYTE}))
    later = toolbox.call(agent, "mcp_weather_echo", {"bytes": 10})

    assert (kind, later["isError"]) == ("upstream_unavailable", False)
    assert "An event of the stream is too long." in text


def text_of(size: int) -> list[dict[str, str]]:
    return [{"type": "text", "text": "x" * size}]
