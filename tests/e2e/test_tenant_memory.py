"""How much memory the lists and rules of one workspace take, measured from outside."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from demo.mcp_servers import McpRequest, McpResponse, PlainServer, result
from demo.serving import listening
from tests.e2e.process import Process, free_port, serving
from tests.fakes.upstream_host import UpstreamHost

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of another process")

SCHEMA = {
    "type": "object",
    "properties": {f"field_{number}": {"type": "string", "description": "A word."} for number in range(16)},
}


def large_list(_: int) -> PlainServer:
    """About 1 MB; decoded, five times as much."""
    tools = [{"name": f"tool_{number}", "inputSchema": SCHEMA} for number in range(1000)]

    def answer(request: McpRequest) -> McpResponse:
        return result(request, {"tools": tools})

    return PlainServer(tools_list=answer)


def create(caller: httpx2.Client, path: str, **fields: Any) -> dict[str, Any]:
    response = caller.post(path, json=fields)
    assert response.status_code == 201, response.text
    body: dict[str, Any] = response.json()
    return body


def resident_mb(process: Process) -> float:
    lines = Path(f"/proc/{process.popen.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def cache_metrics(port: int) -> dict[str, float]:
    lines = httpx2.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text.splitlines()
    samples = (line.split() for line in lines if line.startswith("plugboard_cache"))
    return {name: float(value) for name, value in samples}


@pytest.mark.slow
def test_lists_and_rules_of_a_workspace_take_its_share_of_memory(tmp_path: Path) -> None:
    host, port = UpstreamHost(), free_port()
    with (
        listening(host) as host.url,
        serving(
            tmp_path / "var",
            PLUGBOARD_EGRESS_ALLOW="127.0.0.1",
            PLUGBOARD_WORKSPACE_CACHE_MB=8,
            PLUGBOARD_CACHE_MB=16,
            PLUGBOARD_METRICS_PORT=port,
        ) as process,
        process.caller(process.key()) as caller,
    ):
        workspace = f"/api/workspaces/{process.workspace_id()}"
        servers = [
            create(caller, f"{workspace}/mcp-servers", name=f"S{number}", url=url, authType="none")
            for number in range(24)
            if (url := f"{host.mount(large_list(number))}/mcp")
        ]
        rules = {server["id"]: [f"tool_{number}" for number in range(500)] for server in servers}
        ids = list(rules)
        few = create(caller, f"{workspace}/agents", name="Few", enabledMcpServerIds=ids[:1])
        assert len(caller.get(f"{workspace}/agents/{few['id']}/tools").json()["tools"]) == 1001
        before = resident_mb(process)

        for server in servers:
            listed = caller.get(f"{workspace}/mcp-servers/{server['id']}/tools").json()
            assert len(listed["tools"]) == 1000
        for number in range(30):
            agent = create(
                caller,
                f"{workspace}/agents",
                name=f"A{number}",
                enabledMcpServerIds=ids,
                enabledMcpServerToolNames=rules,
            )
            refused = caller.post(f"{workspace}/agents/{agent['id']}/tool-calls", json={"toolName": "mcp_s1_none"})
            assert refused.status_code == 404
        grown, metrics = resident_mb(process) - before, cache_metrics(port)
        answer = caller.post(
            f"{workspace}/agents/{few['id']}/tool-calls", json={"toolName": "mcp_s0_tool_7", "args": {}}
        ).json()

    assert answer["isError"] is False
    assert grown < 60
    held = {name: value for name, value in metrics.items() if name.startswith("plugboard_cache_bytes")}
    assert 4e6 < sum(held.values()) < 8e6
    assert metrics['plugboard_cache_evictions_total{bound="workspace",cache="toolsets"}'] > 10
    assert metrics['plugboard_cache_evictions_total{bound="workspace",cache="toolboxes"}'] > 10
    assert metrics['plugboard_cache_evictions_total{bound="process",cache="toolsets"}'] == 0
