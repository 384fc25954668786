"""Who may read the metrics, where, and that nothing of a workspace is in them."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from pathlib import Path

import httpx2
import pytest

from api.kit.metrics import Metrics
from api.main.server_process import check_bindable, metrics_listener, metrics_ports
from api.main.settings import InvalidSetting, Settings
from tests.harness import Plugboard, Workspace, caller, served


def free_ports(number: int) -> int:
    """The first of several consecutive free ports below the ephemeral range."""
    while True:
        first = 20_000 + secrets.randbelow(10_000)
        try:
            check_bindable(Settings(port=0, metrics_port=first, workers=number))
        except InvalidSetting:
            continue
        return first


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
    port = free_ports(1)
    with served(Settings(data_dir=tmp_path, metrics_port=port)) as plugboard:
        assert plugboard.caller().get("/metrics").status_code == 401
        answer = read(port)
        assert answer.status_code == 200
        assert "\nplugboard_build_info{" in answer.text

    with pytest.raises(httpx2.ConnectError):  # closed together with the rest
        read(port)


async def test_every_process_has_a_port_and_a_restarted_one_reuses_it() -> None:
    settings = Settings(metrics_port=free_ports(2), workers=2)
    first, second = metrics_ports(settings)

    async with metrics_listener(settings, Metrics("one")):
        async with metrics_listener(settings, Metrics("two")):
            assert 'version="one"' in (await asyncio.to_thread(read, first)).text
            assert 'version="two"' in (await asyncio.to_thread(read, second)).text
        async with metrics_listener(settings, Metrics("three")):
            assert 'version="three"' in (await asyncio.to_thread(read, second)).text


async def test_a_process_without_a_free_metrics_port_serves(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(metrics_port=free_ports(1))

    async with metrics_listener(settings, Metrics("one")), metrics_listener(settings, Metrics("two")):
        assert 'version="one"' in (await asyncio.to_thread(read, settings.metrics_port)).text

    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    port = settings.metrics_port
    assert caplog.records[0].__dict__["detail"] == f"{port} to {port} are taken"


def test_a_taken_port_prevents_the_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])

        for settings in (Settings(port=0, metrics_port=port), Settings(port=0, metrics_port=port - 1, workers=2)):
            with pytest.raises(InvalidSetting, match=r"PLUGBOARD_METRICS_PORT: cannot listen on 127\.0\.0\.1"):
                check_bindable(settings)


def test_the_port_of_the_api_cannot_serve_metrics() -> None:
    port = free_ports(3)

    with pytest.raises(InvalidSetting, match="PLUGBOARD_METRICS_PORT: the API itself listens on port"):
        check_bindable(Settings(port=port + 2, metrics_port=port, workers=3))
