import asyncio
from typing import Any

import pytest

from api.kit.ids import id_pattern
from tests.harness import WEATHER, Workspace, error_paths, many_callers


def test_slugs_of_servers_with_one_name_are_numbered(any_workspace: Workspace) -> None:
    slugs = [any_workspace.make_server()["slug"] for _ in range(4)]

    assert slugs == ["weather-api", "weather-api-2", "weather-api-3", "weather-api-4"]


def test_sixty_servers_of_one_name_are_numbered(workspace: Workspace) -> None:
    slugs = [workspace.make_server(name="W")["slug"] for _ in range(60)]

    assert slugs == ["w", *(f"w-{number}" for number in range(2, 61))]


def test_a_long_slug_is_shortened_for_its_number(workspace: Workspace) -> None:
    slugs = [workspace.make_server(name="b" * 50)["slug"] for _ in range(10)]

    assert slugs == ["b" * 24, *("b" * 22 + f"-{number}" for number in range(2, 10)), "b" * 21 + "-10"]


@pytest.mark.parametrize(
    ("name", "slug"), [("天気", "tianqi"), ("Погода", "pogoda"), ("🙈🙉", None), ("…", None), ("Server", "mcp-server")]
)
def test_a_name_in_any_script_gives_a_slug(workspace: Workspace, name: str, slug: str | None) -> None:
    server = workspace.make_server(name=name)

    assert server["name"] == name
    assert 1 <= len(server["slug"]) <= 24
    assert server["slug"].replace("-", "").isalnum()
    assert slug is None or server["slug"] == slug


def test_a_given_slug_is_kept_unchanged(workspace: Workspace) -> None:
    assert workspace.make_server(slug="my-own")["slug"] == "my-own"
    assert workspace.make_server(slug=None)["slug"] == "weather-api"


def test_a_given_slug_that_is_taken_is_a_conflict(any_workspace: Workspace) -> None:
    any_workspace.make_server()

    response = any_workspace.admin.post(any_workspace.servers, json=WEATHER | {"slug": "weather-api"})

    assert response.status_code == 409
    assert response.json()["code"] == "conflict"
    assert "`weather-api`" in response.json()["detail"]
    assert len(any_workspace.admin.get(any_workspace.servers).json()) == 1


def test_a_new_name_does_not_change_the_slug(workspace: Workspace) -> None:
    server = workspace.make_server()

    changed = workspace.admin.put(f"{workspace.servers}/{server['id']}", json={"name": "Forecast"}).json()

    assert (changed["name"], changed["slug"]) == ("Forecast", "weather-api")


def test_a_new_slug_frees_the_old_one(any_workspace: Workspace) -> None:
    first, second = any_workspace.make_server(), any_workspace.make_server(name="Other")
    path = f"{any_workspace.servers}/{second['id']}"

    taken = any_workspace.admin.put(path, json={"slug": "weather-api", "name": "Not stored"})
    assert taken.status_code == 409
    assert any_workspace.admin.get(path).json() == second

    moved = any_workspace.admin.put(f"{any_workspace.servers}/{first['id']}", json={"slug": "forecast"})
    assert moved.json()["slug"] == "forecast"
    assert any_workspace.admin.put(path, json={"slug": "weather-api"}).json()["slug"] == "weather-api"
    assert any_workspace.make_server(name="Other")["slug"] == "other"
    response = any_workspace.admin.post(any_workspace.servers, json=WEATHER | {"slug": "forecast"})
    assert response.status_code == 409


def test_a_server_can_keep_its_own_slug(workspace: Workspace) -> None:
    server = workspace.make_server()
    path = f"{workspace.servers}/{server['id']}"

    assert workspace.admin.put(path, json={"slug": "weather-api"}).json()["slug"] == "weather-api"
    assert workspace.admin.post(workspace.servers, json=WEATHER | {"slug": "weather-api"}).status_code == 409


def test_a_deleted_server_frees_its_slug(workspace: Workspace) -> None:
    server = workspace.make_server()
    assert workspace.admin.delete(f"{workspace.servers}/{server['id']}").status_code == 204

    assert workspace.make_server()["slug"] == "weather-api"


def test_each_workspace_has_its_own_slugs(workspace: Workspace) -> None:
    other = workspace.plugboard.make_workspace()

    assert workspace.make_server()["slug"] == other.make_server()["slug"] == "weather-api"


def test_an_id_cannot_be_a_slug(workspace: Workspace) -> None:
    server = workspace.make_server()
    assert id_pattern("server").startswith("^server_")  # and a slug has no `_`

    response = workspace.admin.post(workspace.servers, json=WEATHER | {"slug": server["id"][:24]})

    assert error_paths(response) == ["slug"]


@pytest.mark.slow
async def test_twenty_concurrent_servers_with_one_name_get_twenty_slugs(any_workspace: Workspace) -> None:
    async with many_callers(any_workspace.plugboard.url, any_workspace.key) as callers:
        responses = await asyncio.gather(*(callers.post(any_workspace.servers, json=WEATHER) for _ in range(20)))

    assert [response.status_code for response in responses] == [201] * 20
    slugs = {response.json()["slug"] for response in responses}
    assert slugs == {"weather-api", *(f"weather-api-{number}" for number in range(2, 21))}


async def test_one_of_many_concurrent_claims_to_a_slug_succeeds(any_workspace: Workspace) -> None:
    created = [any_workspace.make_server(name=f"S{number}") for number in range(4)]
    wanted: dict[str, Any] = {"slug": "wanted"}

    async with many_callers(any_workspace.plugboard.url, any_workspace.key) as callers:
        responses = await asyncio.gather(
            *(callers.post(any_workspace.servers, json=WEATHER | wanted) for _ in range(4)),
            *(callers.put(f"{any_workspace.servers}/{item['id']}", json=wanted) for item in created),
        )

    statuses = [response.status_code for response in responses]
    assert sorted(statuses)[1:] == [409] * 7
    assert [item["slug"] for item in any_workspace.admin.get(any_workspace.servers).json()].count("wanted") == 1
