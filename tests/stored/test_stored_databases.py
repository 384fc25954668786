"""Databases of released versions are opened and used by this version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, Workspace, served
from tests.stored import database, network
from tests.stored.content import SECRET, begin_consent, come_back, press_button, until
from tests.stored.network import Network, open_network

Json = dict[str, Any]
HOUR = 3600.0
CHANGES_WITH_USE = "lastUsedAt"


@dataclass
class Opened:
    """A copy of a stored database, served at the time at which it was stored."""

    plugboard: Plugboard
    network: Network
    facts: Json

    @property
    def workspace(self) -> Workspace:
        key = self.facts["keys"]["admin"]
        return Workspace(self.plugboard, self.facts["ids"]["workspace"], key, self.plugboard.caller(key))

    def caller(self, name: str) -> httpx2.Client:
        return self.plugboard.caller(self.facts["keys"][name])

    def server(self, name: str) -> str:
        return f"{self.workspace.servers}/{self.facts['ids'][name]}"

    def call(self, tool: str, **args: Any) -> Json:
        agent = f"{self.workspace.agents}/{self.facts['ids']['agent']}"
        response = self.workspace.admin.post(f"{agent}/tool-calls", json={"toolName": tool, "args": args})
        assert response.status_code == 200, response.text
        result: Json = response.json()
        return result

    def text(self, tool: str, **args: Any) -> str:
        result = self.call(tool, **args)
        assert not result["isError"], result
        text: str = result["text"]
        return text

    def status(self, name: str) -> Json:
        status: Json = self.workspace.admin.get(f"{self.server(name)}/oauth/status").json()
        return status


@pytest.fixture(params=database.versions())
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    with opened(request.param, tmp_path) as stored:
        yield stored


@contextmanager
def opened(version: str, data_dir: Path, later: float = 0.0) -> Iterator[Opened]:
    database.restore(version, data_dir)
    facts = database.facts_of(version)
    with open_network() as around:
        for name, state in facts["provider"].items():
            network.restore(around.provider.tenant(name), state)
        settings = Settings.from_environment(around.environment(str(data_dir)))
        with served(settings, StillClock(facts["clock"] + later), around.lookup) as plugboard:
            yield Opened(plugboard, around, facts)


def lacks(before: Any, now: Any) -> bool:
    """Later versions may add fields, and change or leave out none."""
    match before, now:
        case dict(), dict():
            names = before.keys() - {CHANGES_WITH_USE}
            return any(name not in now or lacks(before[name], now[name]) for name in names)
        case list(), list():
            return len(before) != len(now) or any(map(lacks, before, now))
        case _:
            return bool(before != now)


def in_order_of_ids(path: str, body: Any) -> Any:
    """Lists of API keys were in this order; now they are in the order of creation."""
    return sorted(body, key=lambda key: str(key["id"])) if path.endswith("/api-keys") else body


def test_every_released_version_has_a_stored_database() -> None:
    assert "0.1.0" in database.versions()


def test_every_stored_record_is_read(stored: Opened) -> None:
    views = {view["path"]: in_order_of_ids(view["path"], view["body"]) for view in stored.facts["views"]}
    bodies = {path: in_order_of_ids(path, stored.workspace.admin.get(path).json()) for path in views}

    assert [path for path, body in views.items() if lacks(body, bodies[path])] == []
    assert any(view["path"].endswith("kind=calls&limit=100") and view["body"] for view in stored.facts["views"])


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {}, True),
        ({"a": 1}, {"a": 2}, True),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, False),
        ({"a": [{"b": 1}]}, {"a": []}, True),
        ({"lastUsedAt": None}, {"lastUsedAt": "now"}, False),
    ],
)
def test_a_lost_or_changed_field_is_detected(before: Any, now: Any, expected: bool) -> None:
    assert lacks(before, now) is expected


def test_every_api_key_has_the_rights_it_had(stored: Opened) -> None:
    workspace, ids = stored.workspace, stored.facts["ids"]
    rename = {"json": {"name": "Renamed"}}
    server, limited = stored.server("none"), f"{workspace.agents}/{ids['limited']}/tools"
    requests: list[tuple[str, str, str, Json, int]] = [
        ("admin", "POST", workspace.api_keys, {"json": {"name": "x", "scope": "read"}}, 201),
        ("manage", "PUT", server, rename, 200),
        ("manage", "GET", workspace.api_keys, {}, 403),
        ("read", "GET", server, {}, 200),
        ("read", "PUT", server, rename, 403),
        ("invoke", "GET", f"{workspace.agents}/{ids['agent']}/tools", {}, 200),
        ("invoke", "GET", server, {}, 403),
        ("limited", "GET", limited, {}, 200),
        ("limited", "GET", f"{workspace.agents}/{ids['agent']}/tools", {}, 403),
        ("expiring", "GET", server, {}, 200),
        ("revoked", "GET", server, {}, 401),
        ("foreign", "GET", server, {}, 404),
        ("foreign", "GET", f"/api/workspaces/{ids['other']}/mcp-servers", {}, 200),
        ("operator", "GET", "/api/workspaces", {}, 200),
    ]

    statuses = [
        (name, verb, path, stored.caller(name).request(verb, path, **more).status_code)
        for name, verb, path, more, _ in requests
    ]

    assert statuses == [(name, verb, path, status) for name, verb, path, _, status in requests]


def test_tools_are_called_with_the_stored_credentials(stored: Opened) -> None:
    expected = {"none": None, "header": f"Bearer {SECRET}", "basic": "Basic YWRhOmNhbmFyeS1wYXNzd29yZA=="}
    expected["late"] = f"Bearer {SECRET}-late"
    stored.workspace.admin.put(
        f"{stored.workspace.agents}/{stored.facts['ids']['agent']}",
        json={"enabledMcpServerIds": [stored.facts["ids"][name] for name in expected]},
    ).raise_for_status()

    for name, credential in expected.items():
        assert stored.text(f"mcp_{name}_echo", text=name) == f'{{"text": "{name}"}}'
        sent = stored.network.weather.requests[-1]
        assert (sent.path, sent.headers.get("authorization")) == (f"/{name}/mcp", credential)
    header = next(request for request in stored.network.weather.requests if request.path == "/header/mcp")
    assert header.headers["x-tenant"] == "canary-tenant"


def test_generic_tools_and_tool_rules_are_unchanged(stored: Opened) -> None:
    ids, admin = stored.facts["ids"], stored.workspace.admin
    limited = admin.get(f"{stored.workspace.agents}/{ids['limited']}/tools").json()

    assert [tool["name"] for tool in limited["tools"]] == ["mcp_header_echo"]
    assert not stored.call(f"mcp_{ids['generic']}", method="tools/list")["isError"]


@pytest.mark.parametrize("name", ["acme", "given", "secretive"])
def test_a_grant_is_used_and_its_tokens_are_renewed(stored: Opened, name: str) -> None:
    tenant = stored.network.provider.tenant("secretive" if name == "secretive" else "acme")

    assert '"person": "Ada"' in stored.text(f"mcp_{name}_whoami")
    assert tenant.request_counts["token"] == 0

    tenant.expire_tokens()

    assert '"person": "Ada"' in stored.text(f"mcp_{name}_whoami")
    assert (tenant.counts["refreshes"], tenant.counts["reuses"], tenant.counts["registrations"]) == (1, 0, 0)


def test_a_client_credentials_server_gets_a_new_token(stored: Opened) -> None:
    tenant = stored.network.provider.tenant("acme")
    assert '"client": "machine"' in stored.text("mcp_machine_whoami")

    tenant.expire_tokens()

    assert '"client": "machine"' in stored.text("mcp_machine_whoami")
    assert tenant.counts["client_credentials"] == 1


def test_services_are_called_with_their_grants(stored: Opened) -> None:
    assert stored.text("notion_search_notion", query="launch")
    assert stored.text("hubspot_list_owners_hubspot")
    assert stored.text("posthog_list_projects_posthog")
    assert stored.call("slack_list_channels_slack")["error"]["kind"] == "reconnect_required"
    assert stored.call("linear_list_teams_linear")["error"]["kind"] == "not_connected"


@pytest.mark.parametrize("name", ["acme", "slack", "linear"])
def test_a_server_can_be_connected_again(stored: Opened, name: str) -> None:
    tenant = stored.network.provider.tenant(name)
    consent = begin_consent(stored.workspace, stored.facts["ids"][name])

    response = come_back(stored.plugboard, stored.network.visit(consent["location"]), consent["cookie"])

    assert response.headers["Location"] == f"/connected?connected={stored.facts['ids'][name]}"
    assert (stored.status(name)["connected"], stored.status(name)["reconnectRequired"]) == (True, False)
    assert tenant.counts["registrations"] == 0, "the stored client is still known"


def test_a_pending_consent_can_be_completed(stored: Opened) -> None:
    consent = stored.facts["consent"]
    assert stored.plugboard.caller().get(stored.facts["page"]).status_code == 200
    assert press_button(stored.plugboard, stored.facts["page"])["location"].startswith(network.PROVIDER)

    response = come_back(stored.plugboard, stored.network.visit(consent["location"]), consent["cookie"])

    assert response.headers["Location"] == f"/connected?connected={stored.facts['ids']['unconnected']}"
    assert stored.status("unconnected")["connected"] is True


@pytest.mark.parametrize("version", database.versions())
def test_a_failed_revocation_is_retried(version: str, tmp_path: Path) -> None:
    with opened(version, tmp_path, later=HOUR) as stored:
        until(lambda: stored.network.provider.tenant("linear").live_tokens("refresh") == [])


def test_a_repeated_request_gets_the_stored_response(stored: Opened) -> None:
    for request in stored.facts["repeated"]:
        headers = {"Idempotency-Key": "stored"}
        response = stored.workspace.admin.post(request["path"], json=request["body"], headers=headers)

        assert (response.status_code, response.json()) == (request["status"], request["response"])
    assert stored.network.weather.requests == []


def test_stored_records_can_be_changed_and_changes_are_audited(stored: Opened) -> None:
    admin, ids = stored.workspace.admin, stored.facts["ids"]
    server = admin.get(stored.server("header")).json()
    before = admin.get(stored.workspace.audit, params={"kind": "config", "limit": 100}).json()

    changed = admin.put(stored.server("header"), json={"description": "Changed"}, headers={"If-Match": '"1"'}).json()
    admin.put(f"{stored.workspace.agents}/{ids['limited']}", json={"instructions": "Changed"}).raise_for_status()
    admin.delete(f"{stored.server('acme')}?detach=true").raise_for_status()

    changes = {"description": "Changed", "version": 2, "updatedAt": changed["updatedAt"]}
    assert changed == server | changes
    after = admin.get(stored.workspace.audit, params={"kind": "config", "limit": 100}).json()
    actions = {record["action"] for record in after if record not in before}
    assert actions >= {"server.updated", "agent.updated", "server.deleted"}
    assert after[-10:] == before[-10:]


def test_the_workspace_is_deleted_with_all_that_was_stored(stored: Opened) -> None:
    stored.workspace.admin.delete(stored.workspace.path).raise_for_status()

    assert stored.workspace.admin.get(stored.workspace.path).status_code == 401
    until(lambda: stored.network.provider.tenant("notion").live_tokens("refresh") == [])
