"""URLs are checked when a server is stored and when it is changed."""

import pytest

from api.servers.slips import SPACES
from tests.corpus.urls import GOOD, HOSTILE, Hostile
from tests.harness import WEATHER, Plugboard, Workspace, error_paths

pytestmark = pytest.mark.requirement("EGR-02")

KINDS = sorted({hostile.kind for hostile in HOSTILE})


def of_kind(kind: str) -> list[Hostile]:
    return [hostile for hostile in HOSTILE if hostile.kind == kind]


@pytest.fixture(scope="module")
def in_one_workspace(on_sqlite: Plugboard) -> Workspace:
    return on_sqlite.make_workspace()


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_url_is_refused_on_create_and_on_update(in_one_workspace: Workspace, kind: str) -> None:
    workspace = in_one_workspace
    server = workspace.make_server()
    path = f"{workspace.servers}/{server['id']}"

    for hostile in of_kind(kind):
        created = workspace.admin.post(workspace.servers, json=WEATHER | {"url": hostile.url})
        changed = workspace.admin.put(path, json={"url": hostile.url})

        for response in (created, changed):
            assert error_paths(response) == ["url"], hostile.url
            message = response.json()["errors"][0]["message"]
            if hostile.url != hostile.url.strip() and hostile.url.strip().startswith("https://"):
                assert message == SPACES, hostile.url
            else:
                assert hostile.because in message or "imum length is" in message, hostile.url
    assert workspace.admin.get(path).json() == server


@pytest.mark.parametrize("url", GOOD)
def test_a_valid_url_is_accepted_on_create_and_on_update(in_one_workspace: Workspace, url: str) -> None:
    workspace = in_one_workspace
    server = workspace.make_server(url=url)
    assert server["url"] == url

    other = workspace.make_server(url="https://example.org/")
    changed = workspace.admin.put(f"{workspace.servers}/{other['id']}", json={"url": url})
    assert changed.json()["url"] == url


def test_a_refused_url_is_not_repeated(workspace: Workspace) -> None:
    response = workspace.admin.post(workspace.servers, json=WEATHER | {"url": "https://ada:canary@example.com/canary"})

    assert error_paths(response) == ["url"]
    assert "canary" not in response.text


def test_a_url_is_checked_when_another_field_changes(workspace: Workspace) -> None:
    server = workspace.make_server(serviceType="linear", authType="oauth", url=None, config={})
    path = f"{workspace.servers}/{server['id']}"

    becomes = {"serviceType": "external", "url": "https://169.254.169.254/mcp"}

    assert error_paths(workspace.admin.put(path, json=becomes)) == ["url"]
