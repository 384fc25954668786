"""The MCP server of `make demo` speaks the protocol as it is written."""

import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from mcp_types.methods import validate_server_result

from demo.mcp_servers import MODERN
from tests.docs.reader import WEATHER, weather_server
from tests.documents import PROJECT
from tests.e2e.process import free_port
from tests.harness import caller


def post(url: str, method: str, params: Mapping[str, Any], **headers: str) -> httpx2.Response:
    with caller(url) as client:
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return client.post("/mcp", json=message, headers=headers)


def result(response: httpx2.Response) -> dict[str, Any]:
    """Raises where there is none."""
    body: dict[str, Any] = response.json()["result"]
    return body


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "get_forecast", "arguments": {"city": "Lisbon"}}),
        ("tools/call", {"name": "get_weather", "arguments": {"city": "Rome"}}),
    ],
)
def test_the_demo_supports_the_newest_protocol(method: str, params: dict[str, Any]) -> None:
    with weather_server() as url:
        found = result(post(url, method, params, **{"MCP-Protocol-Version": MODERN, "Mcp-Method": method}))

    validate_server_result(method, MODERN, found)


def test_the_demo_supports_earlier_clients() -> None:
    with weather_server() as url:
        initialized = result(post(url, "initialize", {"protocolVersion": "2025-06-18"}))
        called = result(post(url, "tools/call", {"name": "get_forecast", "arguments": {"city": "Oslo", "days": 2}}))
        unknown_city = result(post(url, "tools/call", {"name": "get_weather", "arguments": {"city": "Rome"}}))

    assert initialized["protocolVersion"] == "2025-11-25"
    assert called["content"] == [{"type": "text", "text": "Oslo: 4 °C, then 2 °C."}]
    assert unknown_city["isError"]


def test_the_demo_refuses_a_request_whose_headers_disagree_with_its_body() -> None:
    newest = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call"}
    with weather_server() as url:
        refused = post(url, "tools/list", {}, **newest)
        unknown = post(url, "tools/none", {}, **newest | {"Mcp-Method": "tools/none"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, -32601)


def test_the_demo_prints_its_url() -> None:
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", WEATHER, str(port)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        printed = demo.stdout.readline()
        demo.terminate()

    assert f"http://127.0.0.1:{port}/mcp" in printed


@pytest.mark.parametrize("form", [[], ["--port"]], ids=["by itself", "named"])
@pytest.mark.parametrize(("module", "target"), [(WEATHER, "demo"), ("demo.oauth_provider.server", "demo-oauth")])
def test_a_demo_names_the_way_to_another_port_when_its_port_is_taken(module: str, target: str, form: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        command = [sys.executable, "-m", module, *form, str(other.getsockname()[1])]
        refused = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"another program listens there. Choose another: make {target} ARGS=" in refused.stderr
    assert refused.stderr.count("\n") == 1
