"""The version before and this one serve one store at the same time, as in a rolling upgrade; then the old one alone."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import PROJECT, Program, environment, until
from tests.fakes.dynamodb import new_table
from tests.harness import Workspace
from tests.stored.content import begin_consent, come_back, press_button, ticket_of
from tests.upgrades.predecessor import VERSION, predecessor
from tests.upgrades.two_versions import NEW, OLD, TwoVersions, listed, next_page, shared, two_versions

pytestmark = [pytest.mark.slow]
SECRET = "canary-weather"
ROOT_KEY = "test:bHVrzZ1Yp0b6mYtqv3cJx8Q9sWfKd2RgTnUoAiEhLjM="
MACHINE = {"clientId": "machine", "clientSecret": "canary-machine", "scope": "read"}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return predecessor(tmp_path_factory.mktemp("predecessor"))


@pytest.fixture(scope="module", params=["sqlite", "dynoxide"])
def both(
    request: pytest.FixtureRequest, old: Program, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TwoVersions]:
    folder = tmp_path_factory.mktemp("both")
    with two_versions(folder, old, store_settings(request, request.param)) as both_, both_.serving(OLD, NEW):
        yield both_


def store_settings(request: pytest.FixtureRequest, engine: str) -> dict[str, str]:
    """Both versions know these stores; PostgreSQL came with this version."""
    if engine == "sqlite":
        return {}
    endpoint: str = request.getfixturevalue(engine)
    return {
        "PLUGBOARD_STORE": "dynamodb",
        "PLUGBOARD_TABLE": new_table(endpoint),
        "PLUGBOARD_DYNAMODB_ENDPOINT": endpoint,
        "PLUGBOARD_ROOT_KEY": ROOT_KEY,
    }


@pytest.fixture(params=[(OLD, NEW), (NEW, OLD)], ids=["new reads", "old reads"])
def sides(request: pytest.FixtureRequest, both: TwoVersions) -> tuple[Workspace, Workspace]:
    """One workspace, at the version that writes and at the one that reads."""
    writer, reader = request.param
    workspace = both.make_workspace(writer)
    return workspace, both.same(workspace, reader)


def make_server(workspace: Workspace, both: TwoVersions, **changed: Any) -> str:
    draft = {
        "url": f"{both.outside.weather_url}/mcp",
        "config": {"headerValue": f"Bearer {SECRET}", "headers": {"X-Tenant": "canary-tenant"}},
        "slug": "weather",
        "exposure": "tools",
    }
    created: str = workspace.make_server(**draft | changed)["id"]
    return created


def make_oauth_server(workspace: Workspace, both: TwoVersions, tenant: str, **changed: Any) -> str:
    """With an agent's tools `mcp_whoami_…`."""
    url = both.outside.provider.tenant(tenant).mcp_url
    created: str = workspace.make_server(
        name="Who", slug="who", url=url, **{"authType": "oauth", "config": {}} | changed
    )["id"]
    return created


def make_agent(workspace: Workspace, *servers: str, **changed: Any) -> str:
    created: str = workspace.make_agent(enabledMcpServerIds=list(servers), **changed)["id"]
    return created


def call(workspace: Workspace, agent: str, tool: str, **args: Any) -> Any:
    response = workspace.admin.post(f"{workspace.agents}/{agent}/tool-calls", json={"toolName": tool, "args": args})
    assert response.status_code == 200, response.text
    return response.json()


def connect(both: TwoVersions, begun: Workspace, continued: Workspace, server: str) -> None:
    """The page, the button and the way back, each at the other version than the one before."""
    page = ticket_of(begun, server)
    consent = press_button(continued.plugboard, page)
    response = come_back(begun.plugboard, both.outside.visit(consent["location"]), consent["cookie"])
    assert response.headers["Location"] == f"/connected?connected={server}"


def test_the_predecessor_is_another_program_on_the_same_packages(old: Program, tmp_path: Path) -> None:
    script = "import api.main.cli, integrations; print(api.main.cli.__file__, integrations.__file__)"
    places = subprocess.run(
        [old.command[0], "-c", script],
        cwd=tmp_path,
        env=environment(tmp_path, **old.environment),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    before, now = (
        {line.partition("==")[0] for line in (folder / "requirements.lock").read_text().splitlines() if "==" in line}
        for folder in (old.directory, PROJECT)
    )

    assert all(place.startswith(f"{old.directory}/") for place in places)
    assert tomllib.loads((old.directory / "pyproject.toml").read_text())["project"]["version"] == VERSION
    assert before <= now, "the environment of the tests lacks what the predecessor needs"


def test_servers_agents_and_keys_of_one_are_read_and_used_by_the_other(
    both: TwoVersions, sides: tuple[Workspace, Workspace]
) -> None:
    writer, reader = sides
    server = make_server(writer, both, description="Zwei\nZeilen ☔", timeoutSeconds=7)
    agent = make_agent(writer, server, enabledMcpServerToolNames={server: ["echo"]}, instructions="Be brief. 🌦")
    key = writer.make_key("invoke", agentIds=[agent], expiresAt="2099-01-01T00:00:00Z")

    for path in (writer.path, writer.servers, writer.agents, writer.api_keys):
        assert shared(writer.admin.get(path).json(), reader.admin.get(path).json()), path
    before = len(both.outside.weather.requests)
    with reader.plugboard.caller(key["apiKey"]) as invoker:
        result = invoker.post(
            f"{reader.agents}/{agent}/tool-calls", json={"toolName": "mcp_weather_echo", "args": {"text": "Hi"}}
        )

    assert (result.status_code, result.json()["isError"]) == (200, False), result.text
    sent = both.outside.weather.requests[before:]
    assert {request.headers["authorization"] for request in sent} == {f"Bearer {SECRET}"}
    assert {request.headers["x-tenant"] for request in sent} == {"canary-tenant"}


def test_changes_of_one_are_seen_at_once_by_the_other(sides: tuple[Workspace, Workspace]) -> None:
    writer, reader = sides
    agent, key = make_agent(writer), writer.make_key("read")
    with reader.plugboard.caller(key["apiKey"]) as limited:
        assert limited.get(f"{reader.agents}/{agent}").status_code == 200
        assert writer.admin.put(f"{writer.agents}/{agent}", json={"name": "Sales"}).status_code == 200
        assert limited.get(f"{reader.agents}/{agent}").json()["name"] == "Sales"

        assert writer.admin.delete(f"{writer.api_keys}/{key['id']}").status_code == 204
        assert limited.get(f"{reader.agents}/{agent}").status_code == 401
    assert writer.admin.delete(f"{writer.agents}/{agent}").status_code == 204
    assert reader.admin.get(f"{reader.agents}/{agent}").status_code == 404
    assert writer.admin.delete(writer.path).status_code == 204
    assert reader.admin.get(reader.path).status_code == 401


@pytest.mark.parametrize("kind", ["servers", "agents"])
def test_versions_and_preconditions_hold_for_both(
    both: TwoVersions, sides: tuple[Workspace, Workspace], kind: str
) -> None:
    writer, reader = sides
    path = (
        f"{writer.servers}/{make_server(writer, both)}"
        if kind == "servers"
        else f"{writer.agents}/{make_agent(writer)}"
    )
    first = writer.admin.get(path).headers["ETag"]
    assert reader.admin.get(path).headers["ETag"] == first

    changed = reader.admin.put(path, json={"description": "One"}, headers={"If-Match": first})
    stale = writer.admin.put(path, json={"description": "Two"}, headers={"If-Match": first})
    again = writer.admin.put(path, json={"description": "Three"}, headers={"If-Match": changed.headers["ETag"]})

    assert [response.status_code for response in (changed, stale, again)] == [200, 412, 200]
    assert shared(reader.admin.get(path).json(), again.json())


def test_changes_by_turns_lose_nothing(both: TwoVersions, sides: tuple[Workspace, Workspace]) -> None:
    writer, reader = sides
    server = make_server(writer, both)
    agent = make_agent(writer, server, enabledMcpServerToolNames={server: ["echo"]})
    path = f"{writer.agents}/{agent}"

    for number in range(6):
        side = sides[number % 2]
        field = ("description", "instructions", "name")[number % 3]
        assert side.admin.put(path, json={field: f"{field} {number}"}).status_code == 200
        assert side.admin.put(f"{side.servers}/{server}", json={"description": f"{number}"}).status_code == 200

    view = reader.admin.get(path).json()
    assert (view["description"], view["instructions"], view["name"]) == ("description 3", "instructions 4", "name 5")
    assert view["enabledMcpServerToolNames"] == {server: ["echo"]}
    assert view["version"] == 7
    assert writer.admin.get(f"{writer.servers}/{server}").json()["configured"] == ["headerValue", "headers"]
    assert len(listed(reader, f"{reader.audit}?kind=config&limit=100")) == 4 + 12


@pytest.mark.parametrize("kind", ["servers", "agents", "api_keys", "audit"])
def test_a_list_begun_by_one_is_continued_by_the_other(
    both: TwoVersions, sides: tuple[Workspace, Workspace], kind: str
) -> None:
    writer, _ = sides
    for number in range(5):
        make_server(writer, both, slug=f"weather-{number}")
        make_agent(writer)
        writer.make_key("read")
    path = getattr(writer, kind)
    expected = [item["id"] for item in listed(writer, f"{path}?limit=100")]

    seen, place, turn = [], f"{path}?limit=2", 0
    while place:
        response = sides[turn % 2].admin.get(place)
        assert response.status_code == 200, response.text
        seen += [item["id"] for item in response.json()]
        place, turn = next_page(response), turn + 1

    if kind == "api_keys":  # the versions list them in different orders, and the old one begins again
        assert set(seen) == set(expected)
    else:
        assert seen == expected


def test_both_show_the_same_audit_records(both: TwoVersions, sides: tuple[Workspace, Workspace]) -> None:
    writer, reader = sides
    agent = make_agent(writer, make_server(writer, both))
    for side in sides:
        call(side, agent, "mcp_weather_echo", text="Hi")
        side.admin.put(f"{side.agents}/{agent}", json={"description": side.plugboard.url})

    for kind, count in (("calls", 2), ("config", 6)):
        path = f"{writer.audit}?kind={kind}&limit=100"
        until(lambda path=path, count=count: len(listed(reader, path)) == count)
        assert shared(listed(writer, path), listed(reader, path))


def test_a_request_is_repeated_at_the_other_version(both: TwoVersions, sides: tuple[Workspace, Workspace]) -> None:
    writer, reader = sides
    agent = make_agent(writer, make_server(writer, both))
    requests = {
        writer.agents: {"name": "Once"},
        writer.api_keys: {"name": "once", "scope": "read"},
        f"{writer.agents}/{agent}/tool-calls": {"toolName": "mcp_weather_echo", "args": {"text": "Once"}},
    }
    for path, body in requests.items():
        headers = {"Idempotency-Key": "an-upgrade"}
        first = writer.admin.post(path, json=body, headers=headers)
        second = reader.admin.post(path, json=body, headers=headers)
        reused = reader.admin.post(path, json=body | {"name": "Other", "toolName": "other"}, headers=headers)

        assert first.is_success, first.text
        assert (first.status_code, first.json()) == (second.status_code, second.json())
        assert first.headers.get("Location") == second.headers.get("Location")
        assert reused.status_code == 422
    assert [agent["name"] for agent in listed(reader, reader.agents)].count("Once") == 1


def test_a_consent_goes_through_both_and_its_tokens_are_used_and_renewed_by_both(
    both: TwoVersions, sides: tuple[Workspace, Workspace]
) -> None:
    writer, reader = sides
    tenant = both.outside.provider.tenant(f"tenant-{writer.id[-6:].lower().replace('_', '-')}")
    server = make_oauth_server(writer, both, tenant.name)
    agent = make_agent(writer, server)
    connect(both, writer, reader, server)

    for first, second in ((writer, reader), (reader, writer), (writer, reader)):  # the first one renews
        for side in (first, second):
            result = call(side, agent, "mcp_who_whoami")
            assert not result["isError"], result
            status = side.admin.get(f"{side.servers}/{server}/oauth/status").json()
            assert (status["connected"], status["reconnectRequired"]) == (True, False)
        tenant.expire_tokens()

    assert (tenant.counts["refreshes"], tenant.counts["reuses"], tenant.counts["registrations"]) == (2, 0, 1)
    assert reader.admin.post(f"{reader.servers}/{server}/oauth/disconnect").status_code == 200
    assert call(writer, agent, "mcp_who_whoami")["error"]["kind"] == "not_connected"
    until(lambda: tenant.live_tokens("refresh") == [])


def test_a_token_of_a_client_is_shared(both: TwoVersions, sides: tuple[Workspace, Workspace]) -> None:
    writer, reader = sides
    server = make_oauth_server(writer, both, "acme", config=MACHINE, oauthGrant="client_credentials")
    agent = make_agent(writer, server)
    tenant = both.outside.provider.tenant("acme")
    before = tenant.counts["client_credentials"]

    for side in (writer, reader, writer):
        assert '"client": "machine"' in call(side, agent, "mcp_who_whoami")["text"]

    assert tenant.counts["client_credentials"] - before == 1


def test_the_old_version_keeps_a_disconnect_that_it_does_not_know(both: TwoVersions) -> None:
    new = both.make_workspace(NEW)
    old = both.same(new, OLD)
    server = make_oauth_server(new, both, "acme", config=MACHINE, oauthGrant="client_credentials")
    agent = make_agent(new, server)
    assert new.admin.post(f"{new.servers}/{server}/oauth/disconnect").status_code == 200

    assert old.admin.put(f"{old.servers}/{server}", json={"description": "Changed"}).status_code == 200
    assert not call(old, agent, "mcp_who_whoami")["isError"], "as docs/upgrading.md says"

    view = new.admin.get(f"{new.servers}/{server}").json()
    assert (view["description"], view["oauthConnected"]) == ("Changed", False)
    assert call(new, agent, "mcp_who_whoami")["error"]["kind"] == "not_connected"


def test_sealing_again_by_the_new_version_raises_versions_for_the_old_alone(both: TwoVersions) -> None:
    new = both.make_workspace(NEW)
    old = both.same(new, OLD)
    path = f"{new.servers}/{make_server(new, both)}"
    before = new.admin.get(path).headers["ETag"]
    for command in ("rotate", "rewrap"):
        both.command(NEW, "keys", command, "--workspace", new.id)

    assert new.admin.get(path).headers["ETag"] == before
    assert old.admin.put(path, json={"description": "One"}, headers={"If-Match": before}).status_code == 412
    again = old.admin.get(path).headers["ETag"]
    assert again > before
    assert old.admin.put(path, json={"description": "Two"}, headers={"If-Match": again}).status_code == 200
    assert new.admin.put(path, json={"description": "Three"}, headers={"If-Match": before}).status_code == 412


@pytest.mark.parametrize("version", [OLD, NEW])
def test_data_keys_are_rotated_and_credentials_sealed_again_by_either(both: TwoVersions, version: str) -> None:
    workspace = both.make_workspace(OLD)
    sides = (workspace, both.same(workspace, NEW))
    server = make_server(workspace, both)
    agent = make_agent(workspace, server)

    for command in ("rotate", "rewrap"):
        both.command(version, "keys", command, "--workspace", workspace.id)
        for side in sides:
            result = call(side, agent, "mcp_weather_echo", text=command)
            assert not result["isError"], result
    for number, side in enumerate(sides):
        config = {"config": {"headerValue": f"Bearer {SECRET}-{number}"}}
        assert side.admin.put(f"{side.servers}/{server}", json=config).status_code == 200
        other = sides[1 - number]
        assert not call(other, agent, "mcp_weather_echo", text="changed")["isError"]
        assert both.outside.weather.requests[-1].headers["authorization"] == f"Bearer {SECRET}-{number}"


def test_the_old_version_serves_alone_what_the_new_one_has_written(old: Program, tmp_path: Path) -> None:
    """The way back."""
    calls: dict[str, dict[str, Any]] = {"mcp_weather_echo": {"text": "Hi"}, "mcp_who_whoami": {}}
    with two_versions(tmp_path, old, {}) as both:
        with both.serving(NEW):
            new = both.make_workspace(NEW)
            plain, who = make_server(new, both), make_oauth_server(new, both, "acme")
            agent, reader_key = make_agent(new, plain, who), new.make_key("read")
            connect(both, new, new, who)
            pending = begin_consent(new, who)
            assert [call(new, agent, tool, **args)["isError"] for tool, args in calls.items()] == [False, False]
            assert new.admin.put(f"{new.servers}/{plain}", json={"description": "Changed"}).status_code == 200
            until(lambda: len(listed(new, f"{new.audit}?kind=calls")) == 2)
            paths = [new.path, new.servers, new.agents, new.api_keys, f"{new.audit}?limit=100"]
            paths += [f"{new.servers}/{who}/oauth/status", f"{new.audit}?kind=calls"]
            views = {path: new.admin.get(path).json() for path in paths}
        both.command(NEW, "keys", "rotate")
        with both.serving(OLD):
            back = both.same(new, OLD)
            shown = {path: back.admin.get(path).json() for path in paths}
            assert [call(back, agent, tool, **args)["isError"] for tool, args in calls.items()] == [False, False]
            with back.plugboard.caller(reader_key["apiKey"]) as limited:
                assert limited.get(back.servers).status_code == 200
            assert back.admin.put(f"{back.servers}/{plain}", json={"description": "Back"}).status_code == 200
            returned = come_back(back.plugboard, both.outside.visit(pending["location"]), pending["cookie"])

    assert [path for path in paths if not shared(views[path], shown[path])] == []
    assert returned.headers["Location"] == f"/connected?connected={who}"
