"""Who may read the metrics, where, and that nothing of a workspace is in them."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.http.request_metrics import RequestCollector
from api.kit.metrics import Metrics
from api.main.server_process import check_bindable, metrics_listener
from api.main.settings import InvalidSetting, Settings
from tests.harness import Plugboard, Workspace, caller, served


def free_metrics_port() -> int:
    """A free port below the ephemeral range."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        try:
            check_bindable(Settings(port=0, metrics_port=port))
        except InvalidSetting:
            continue
        return port


def read(port: int) -> httpx2.Response:
    with caller(f"http://127.0.0.1:{port}") as anyone:
        return anyone.get("/metrics")


def test_an_operator_reads_the_metrics(plugboard: Plugboard) -> None:
    response = plugboard.operator.get("/metrics")

    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "\nplugboard_build_info{" in response.text
    assert "\nplugboard_call_records_waiting " in response.text
    assert "\nplugboard_call_records_dropped_total 0.0\n" in response.text


def test_other_keys_cannot_read_the_metrics(workspace: Workspace) -> None:
    assert workspace.plugboard.caller().get("/metrics").status_code == 401
    assert workspace.admin.get("/metrics").status_code == 403


def test_metrics_contain_nothing_of_a_workspace(workspace: Workspace) -> None:
    server = workspace.make_server(name="canary-server")
    workspace.admin.get(f"{workspace.servers}/{server['id']}")

    text = workspace.plugboard.operator.get("/metrics").text

    for item in (workspace.id, server["id"], "canary"):
        assert item not in text


def test_metrics_are_served_on_a_local_port(tmp_path: Path) -> None:
    port = free_metrics_port()
    with served(Settings(data_dir=tmp_path, metrics_port=port)) as plugboard:
        assert plugboard.caller().get("/metrics").status_code == 401
        answer = read(port)
        assert answer.status_code == 200
        assert "\nplugboard_build_info{" in answer.text

    with pytest.raises(httpx2.ConnectError):  # closed together with the rest
        read(port)


async def test_a_process_without_a_free_metrics_port_serves(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(metrics_port=free_metrics_port())

    async with metrics_listener(settings, Metrics("one")), metrics_listener(settings, Metrics("two")):
        assert 'version="one"' in (await asyncio.to_thread(read, settings.metrics_port)).text

    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    detail = caplog.records[0].__dict__["detail"]
    assert detail == f"127.0.0.1, port {settings.metrics_port}: Address already in use"


def test_a_taken_port_prevents_the_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])

        with pytest.raises(InvalidSetting, match=r"PLUGBOARD_METRICS_PORT: cannot listen on 127\.0\.0\.1"):
            check_bindable(Settings(port=0, metrics_port=port))


def test_metrics_cannot_be_served_on_an_address_of_another_machine() -> None:
    settings = Settings(port=0, metrics_port=free_metrics_port(), metrics_host="192.0.2.1")

    with pytest.raises(InvalidSetting, match=r"PLUGBOARD_METRICS_HOST: cannot listen on 192\.0\.2\.1"):
        check_bindable(settings)


def test_metrics_are_served_on_the_address_that_is_set(tmp_path: Path) -> None:
    port = free_metrics_port()
    with (
        served(Settings(data_dir=tmp_path, metrics_port=port, metrics_host="127.0.0.2")),
        caller(f"http://127.0.0.2:{port}") as anyone,
    ):
        assert "\nplugboard_workers 1.0\n" in anyone.get("/metrics").text
        with pytest.raises(httpx2.ConnectError):
            read(port)


def values(plugboard: Plugboard, name: str) -> dict[frozenset[str], float]:
    """The values of a metric by the values of its labels."""
    return {
        frozenset(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(plugboard.operator.get("/metrics").text)
        for sample in family.samples
        if sample.name == name
    }


def test_requests_are_counted_by_route_and_status(workspace: Workspace) -> None:
    template = "/api/workspaces/{workspace_id}/mcp-servers"
    known = [
        frozenset({template, "GET", "200"}),
        frozenset({template, "POST", "422"}),
        frozenset({"other", "GET", "404"}),
    ]

    def counted() -> list[float]:
        now = values(workspace.plugboard, "plugboard_http_requests_total")
        return [now.get(labels, 0) for labels in known]

    before = counted()
    for _ in range(3):
        workspace.admin.get(workspace.servers)
    workspace.admin.post(workspace.servers, json={})
    for path in ("/nothing", "/nothing/else"):
        workspace.admin.get(path)

    assert [now - then for now, then in zip(counted(), before, strict=True)] == [3, 1, 2]


def test_tool_calls_are_counted_as_requests_too(workspace: Workspace) -> None:
    """They take the fast path."""
    agent = workspace.make_agent()["id"]
    workspace.admin.post(f"{workspace.agents}/{agent}/tool-calls", json={"name": "nothing", "arguments": {}})

    routes = {label for labels in values(workspace.plugboard, "plugboard_http_requests_total") for label in labels}
    assert "/api/workspaces/{workspace_id}/agents/{agent_id}/tool-calls" in routes


def test_operations_of_the_store_are_timed(workspace: Workspace) -> None:
    before = values(workspace.plugboard, "plugboard_store_seconds_count")
    workspace.make_server()
    workspace.admin.get(workspace.servers)

    now = values(workspace.plugboard, "plugboard_store_seconds_count")
    for operation in ("write", "query"):
        assert now[frozenset({operation, "ok"})] > before.get(frozenset({operation, "ok"}), 0)


def test_invented_methods_make_no_series() -> None:
    requests = RequestCollector()
    for method in ("BREW", "WHEN", "GET"):
        requests.record(None, method, 405, 0.1)

    (counter, times) = requests.collect()
    assert {(sample.labels["method"], sample.value) for sample in counter.samples} == {("other", 2), ("GET", 1)}
    assert [sample.value for sample in times.samples if sample.name.endswith("_count")] == [3]


def test_the_port_of_the_api_cannot_serve_metrics() -> None:
    port = free_metrics_port()

    with pytest.raises(InvalidSetting, match="PLUGBOARD_METRICS_PORT: the API itself listens on port"):
        check_bindable(Settings(port=port, metrics_port=port))
