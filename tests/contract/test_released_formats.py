"""A database that a released version has stored is opened, read and changed by this one."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.kit.crypto.secret import Secret
from api.main.container import DATABASE
from api.main.settings import Settings
from tests.conftest import ROOT_KEY
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, Workspace, served

RELEASED = sorted((Path(__file__).parent / "released").glob("*.sql"))
NAMES = ["workspace.created", "server.created", "agent.created", "api_key.created", "agent.updated", "tool.called"]


class Stored:
    """The workspace of a released database, and the ids that its first line names."""

    def __init__(self, plugboard: Plugboard, ids: dict[str, str]) -> None:
        self.ids = ids
        self.workspace = Workspace(plugboard, ids["workspace"], ids["admin"], plugboard.caller(ids["admin"]))


@pytest.fixture(params=RELEASED, ids=lambda path: path.stem)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    script: str = request.param.read_text()
    first_line = script.partition("\n")[0]
    facts = json.loads(first_line[first_line.index("{") :])
    with sqlite3.connect(tmp_path / DATABASE) as database:
        database.executescript(script)
    database.close()
    settings = Settings(data_dir=tmp_path, root_key=Secret(ROOT_KEY))
    with served(settings, StillClock(facts.pop("at"))) as plugboard:
        yield Stored(plugboard, facts)


def test_every_kind_of_record_is_read(stored: Stored) -> None:
    workspace, ids = stored.workspace, stored.ids

    assert workspace.admin.get(workspace.path).json()["name"] == "Acme"
    servers = workspace.admin.get(workspace.servers).json()
    assert {server["id"] for server in servers} == {ids["server"], ids["notion"]}
    assert workspace.stored_credentials(ids["server"]) == {"headerValue": "Bearer canary-weather"}
    agent = workspace.admin.get(f"{workspace.agents}/{ids['agent']}").json()
    assert agent["instructions"] == "Be brief."
    assert agent["enabledMcpServerToolNames"] == {ids["server"]: ["forecast"]}
    keys = workspace.admin.get(workspace.api_keys).json()
    assert {key["scope"] for key in keys} == {"admin", "invoke"}
    assert {record["action"] for record in workspace.admin.get(workspace.audit).json()} >= set(NAMES)


def test_stored_api_keys_keep_their_rights(stored: Stored) -> None:
    plugboard, ids = stored.workspace.plugboard, stored.ids

    assert plugboard.caller(ids["operator"]).get("/api/workspaces").json()[0]["id"] == ids["workspace"]
    limited = plugboard.caller(ids["invoke"])
    assert limited.get(f"{stored.workspace.agents}/{ids['sales']}/tools").status_code == 403
    assert limited.get(stored.workspace.servers).status_code == 403


def test_a_stored_response_is_replayed(stored: Stored) -> None:
    workspace = stored.workspace
    again = workspace.admin.post(workspace.agents, json={"name": "Sales"}, headers={"Idempotency-Key": "first"})

    assert (again.status_code, again.json()["id"]) == (201, stored.ids["sales"])


def test_stored_records_can_be_changed_and_deleted(stored: Stored) -> None:
    workspace, ids = stored.workspace, stored.ids
    server, agent = f"{workspace.servers}/{ids['server']}", f"{workspace.agents}/{ids['agent']}"

    assert workspace.admin.put(server, json={"name": "Renamed"}).json()["name"] == "Renamed"
    assert workspace.stored_credentials(ids["server"]) == {"headerValue": "Bearer canary-weather"}
    assert workspace.admin.put(agent, json={"name": "Renamed"}).json()["instructions"] == "Be brief."
    assert workspace.admin.delete(server, params={"detach": "true"}).status_code == 204
    assert workspace.plugboard.caller(ids["operator"]).delete(workspace.path).status_code == 204
