"""The blocks of `docs/connect.md`."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider, oauth_provider
from tests.conformance.browser import Browser
from tests.docs.reader import OAUTH_DEMO_AT, Reader
from tests.documents import guide
from tests.e2e.process import until
from tests.harness import served

CONNECT, SERVICES = guide("connect"), guide("services")
MCP_SERVER = "https://mcp.example.com/mcp"


@contextmanager
def reader_with_provider(provider: OAuthProvider, folder: Path) -> Iterator[Reader]:
    """Has set what `make demo-oauth` prints, and started Plugboard."""
    settings = Settings.from_environment(provider.environment() | {"PLUGBOARD_DATA_DIR": str(folder / "var")})
    with served(settings) as plugboard:
        moved = {MCP_SERVER: provider.tenant("acme").mcp_url, OAUTH_DEMO_AT: provider.origin}
        yield Reader(plugboard.make_workspace(), folder, moved)


def connect(reader: Reader, url: str) -> Mapping[str, str]:
    """Consents in a browser; what the last URL says."""
    plugboard = reader.workspace.plugboard
    return Browser(plugboard.settings.public_url, plugboard.url).connect(url)


@pytest.fixture(scope="module")
def provider() -> Iterator[OAuthProvider]:
    with oauth_provider() as server:
        yield server


def test_a_server_is_connected_and_disconnected(provider: OAuthProvider, tmp_path: Path) -> None:
    acme = provider.tenant("acme")
    with reader_with_provider(provider, tmp_path) as reader:
        link, issues = reader.run(CONNECT, "api() {", "oauth/authorize", then='echo "$ISSUES"')
        came_back = connect(reader, json.loads(link)["authUrl"])
        status, disconnected = reader.run(CONNECT, "api() {", "oauth/status", ISSUES=issues)
        until(lambda: not acme.live_tokens("access"))
        servers = reader.workspace.admin.get(reader.workspace.servers).json()

    assert came_back == {"connected": issues}
    assert [json.loads(line)["connected"] for line in (status, disconnected)] == [True, False]
    assert {server["name"]: server["serviceType"] for server in servers} == {"Issues": "external", "Tasks": "linear"}


def test_a_machine_connects_without_user_consent(provider: OAuthProvider, tmp_path: Path) -> None:
    provider.tenant("demo").add_client("demo-machine", secret="demo-secret", grants=("client_credentials",))
    with reader_with_provider(provider, tmp_path) as reader:
        check, *statuses = reader.run(CONNECT, "api() {", "client_credentials", "oauth/connect")

    assert json.loads(check)["status"] == "ok"
    assert [json.loads(status)["connected"] for status in statuses] == [False, True]


def test_the_tools_of_services_are_called(provider: OAuthProvider, tmp_path: Path) -> None:
    with reader_with_provider(provider, tmp_path) as reader:
        link, tasks = reader.run(SERVICES, "api() {", "oauth/authorize", then='echo "$TASKS"')
        came_back = connect(reader, json.loads(link)["authUrl"])
        issues, events = map(json.loads, reader.run(SERVICES, "api() {", "phx_demo", TASKS=tasks))

    assert came_back == {"connected": tasks}
    assert [issue["identifier"][:4] for issue in issues["structuredContent"]["issues"]] == ["ENG-"] * 3
    assert len(events["structuredContent"]["rows"]) > 1
    assert [response["isError"] for response in (issues, events)] == [False, False]
