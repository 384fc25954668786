"""Is it alive, is it ready: asked often, by programs, and answered while things are broken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from api.kit.crypto.secret import Secret
from api.kit.storage.dynamodb.store import dynamo_client
from api.main.settings import Settings
from tests.conftest import ROOT_KEY
from tests.fakes.dynamodb import new_table
from tests.fakes.tcp_proxy import SilencingProxy, proxy_to
from tests.harness import Plugboard, served


def test_a_running_process_is_alive_and_ready(any_plugboard: Plugboard) -> None:
    anyone = any_plugboard.caller()

    assert (anyone.get("/healthz").status_code, anyone.get("/healthz").json()) == (200, {"status": "alive"})
    assert (anyone.get("/readyz").status_code, anyone.get("/readyz").json()) == (200, {"status": "ready"})


@contextmanager
def plugboard_behind_proxy(endpoint: str) -> Iterator[tuple[SilencingProxy, Plugboard]]:
    table = new_table(endpoint)
    with proxy_to(endpoint) as (wire, url), served(_settings(url, table)) as plugboard:
        try:
            yield wire, plugboard
        finally:
            wire.restore()


def _settings(endpoint: str, table: str) -> Settings:
    return Settings(store="dynamodb", table=table, dynamodb_endpoint=endpoint, root_key=Secret(ROOT_KEY))


def timed(caller: httpx2.Client, path: str) -> tuple[httpx2.Response, float]:
    begun = time.perf_counter()
    return caller.get(path), time.perf_counter() - begun


@pytest.mark.requirement("REL-24")
def test_with_a_silent_store_the_process_is_alive_and_not_ready_within_a_second(moto_server: str) -> None:
    with plugboard_behind_proxy(moto_server) as (wire, plugboard):
        anyone = plugboard.caller()
        assert anyone.get("/readyz").status_code == 200

        wire.silence()

        answer, seconds = timed(anyone, "/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert answer.headers["Retry-After"] == "1"
        assert seconds < 1.9
        alive, seconds = timed(anyone, "/healthz")
        assert alive.status_code == 200
        assert seconds < 0.9

        wire.restore()
        assert any(anyone.get("/readyz").status_code == 200 for _ in range(20))


@pytest.mark.requirement("REL-23")
def test_a_request_during_a_store_outage_gets_a_retryable_503(moto_server: str) -> None:
    settings = _settings(moto_server, new_table(moto_server))
    with served(settings) as plugboard:
        workspace = plugboard.make_workspace()
        dynamo = dynamo_client(moto_server)
        dynamo.update_table(TableName=settings.table, DeletionProtectionEnabled=False)
        dynamo.delete_table(TableName=settings.table)
        dynamo.close()

        for response in (
            workspace.admin.get(workspace.servers),
            workspace.admin.post(workspace.agents, json={"name": "x"}),
            plugboard.caller(plugboard.operator_key).get("/api/workspaces"),
        ):
            assert (response.status_code, response.json()["code"]) == (503, "unavailable")
            assert response.headers["Retry-After"] == "1"
            assert settings.table not in response.text
            assert "DynamoDB" not in response.text
        assert plugboard.caller().get("/readyz").status_code == 503
        assert plugboard.caller().get("/healthz").status_code == 200
