"""Is it alive, is it ready: asked often, by programs, and answered while things are broken."""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from api.kit.crypto.secret import Secret
from api.kit.storage.dynamodb.store import dynamo_client
from api.main.settings import Settings
from tests.conftest import ROOT_KEY
from tests.e2e.process import until
from tests.fakes.dynamodb import new_table
from tests.fakes.tcp_proxy import SilencingProxy, proxy_to
from tests.harness import WEATHER, Plugboard, caller, served


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


def root_keys(*ids: str) -> Secret:
    return Secret(
        ", ".join(f"{root_id}:{base64.b64encode(KEYS[root_id]).decode()}" for root_id in ids).replace(" ", "")
    )


KEYS = {"k1": secrets.token_bytes(32), "k2": secrets.token_bytes(32)}


def test_a_process_without_a_root_key_that_stored_data_needs_is_not_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A workspace was made under the new root key; then one machine starts without it."""
    with served(Settings(data_dir=tmp_path, root_key=root_keys("k1"))):
        pass
    with served(Settings(data_dir=tmp_path, root_key=root_keys("k2", "k1"))) as plugboard:
        workspace = plugboard.make_workspace()

    with served(Settings(data_dir=tmp_path, root_key=root_keys("k1"))) as plugboard, plugboard.caller() as anyone:
        until(lambda: anyone.get("/readyz").status_code == 503)
        answer = anyone.get("/readyz").json()
        assert answer["detail"].startswith("A root key that stored data needs is not configured.")
        assert "\nplugboard_root_keys_missing 1.0\n" in plugboard.operator.get("/metrics").text
        assert anyone.get("/healthz").status_code == 200
        assert [record.__dict__["detail"] for record in caplog.records if record.levelname == "ERROR"] == [
            "stored data keys need k2"
        ]

    with served(Settings(data_dir=tmp_path, root_key=root_keys("k1", "k2"))) as plugboard:
        with caller(plugboard.url, workspace.key) as admin:
            assert admin.get(workspace.path).status_code == 200
        assert plugboard.caller().get("/readyz").status_code == 200


def test_a_key_that_another_machine_has_added_is_noticed_when_it_is_used(tmp_path: Path) -> None:
    with (
        served(Settings(data_dir=tmp_path, root_key=root_keys("k1"))) as old,
        served(Settings(data_dir=tmp_path, root_key=root_keys("k2", "k1"))) as new,
    ):
        until(lambda: 'job="root_keys",outcome="succeeded"} 1.0' in old.operator.get("/metrics").text)
        workspace = new.make_workspace()
        assert old.caller().get("/readyz").status_code == 200

        with caller(old.url, workspace.key) as admin:
            assert admin.post(workspace.servers, json=WEATHER).status_code == 503

        assert old.caller().get("/readyz").status_code == 503
        assert new.caller().get("/readyz").status_code == 200


def test_a_process_whose_database_file_was_removed_is_not_ready_and_writes_nothing(tmp_path: Path) -> None:
    with served(Settings(data_dir=tmp_path)) as plugboard:
        workspace, anyone = plugboard.make_workspace(), plugboard.caller()
        assert anyone.get("/readyz").status_code == 200

        (tmp_path / "plugboard.db").rename(tmp_path / "gone.db")
        ready, written = anyone.get("/readyz"), workspace.admin.post(workspace.agents, json={"name": "Support"})
        read = workspace.admin.get(workspace.agents)

    assert (ready.status_code, written.status_code, read.status_code) == (503, 503, 200)
    assert ready.json()["detail"] == "The database file was removed or replaced: restore it, then restart."
    assert "must restore it and restart Plugboard" in written.json()["detail"]
