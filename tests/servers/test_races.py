"""Concurrent writes lose nothing and leave no dangling references."""

import asyncio
from typing import Any

import httpx2
import pytest

from tests.harness import Workspace, many_callers

WRITERS = 32
AT_LENGTH = pytest.mark.parametrize(
    "any_plugboard", ["sqlite", pytest.param("moto", marks=pytest.mark.slow), "dynoxide"], indirect=True
)
WRITERS_WHO_GO_ON = 8
WORDS_OF_EACH = 8
ROUNDS = 12


async def append(callers: httpx2.AsyncClient, path: str, word: str) -> None:
    """Reads, appends a word and writes with `If-Match`, and repeats after a conflict."""
    while True:
        read = await callers.get(path)
        words = f"{read.json()['description']} {word}".strip()
        written = await callers.put(path, json={"description": words}, headers={"If-Match": read.headers["ETag"]})
        if written.status_code == 200:
            assert written.json()["description"] == words
            return
        assert written.status_code == 412, written.text


async def append_many(workspace: Workspace, path: str, words: list[list[str]]) -> dict[str, Any]:
    async with many_callers(workspace.plugboard.url, workspace.key) as callers:

        async def write(mine: list[str]) -> None:
            for word in mine:
                await append(callers, path, word)

        await asyncio.gather(*(write(mine) for mine in words))
        body: dict[str, Any] = (await callers.get(path)).json()
        return body


@AT_LENGTH
@pytest.mark.requirement("REL-06")
async def test_concurrent_writers_lose_no_update_of_a_server(any_workspace: Workspace) -> None:
    path = f"{any_workspace.servers}/{any_workspace.make_server()['id']}"
    words = [[f"w{writer}"] for writer in range(WRITERS)]

    after = await append_many(any_workspace, path, words)

    assert sorted(after["description"].split()) == sorted(word for mine in words for word in mine)
    assert after["version"] == 1 + WRITERS


@pytest.mark.requirement("REL-06")
async def test_concurrent_writers_that_retry_lose_no_update_of_an_agent(workspace: Workspace) -> None:
    path = f"{workspace.agents}/{workspace.make_agent()['id']}"
    words = [[f"{writer:x}.{turn}" for turn in range(WORDS_OF_EACH)] for writer in range(WRITERS_WHO_GO_ON)]

    after = await append_many(workspace, path, words)

    assert sorted(after["description"].split()) == sorted(word for mine in words for word in mine)
    assert after["version"] == 1 + WRITERS_WHO_GO_ON * WORDS_OF_EACH


async def test_concurrent_changes_of_different_fields_are_all_kept(any_workspace: Workspace) -> None:
    path = f"{any_workspace.servers}/{any_workspace.make_server()['id']}"
    changes: dict[str, Any] = {
        "name": "Forecast",
        "slug": "forecast",
        "description": "Tomorrow's.",
        "enabled": False,
        "timeoutSeconds": 5,
        "exposure": "tools",
        "config": {"headerValue": "Bearer canary-2", "headers": {"X-Key": "canary"}},
    }

    async with many_callers(any_workspace.plugboard.url, any_workspace.key) as callers:
        responses = await asyncio.gather(*(callers.put(path, json={name: value}) for name, value in changes.items()))
        after = (await callers.get(path)).json()

    assert [response.status_code for response in responses] == [200] * len(changes)
    assert sorted(response.json()["version"] for response in responses) == list(range(2, 2 + len(changes)))
    assert {name: after[name] for name in changes if name != "config"} == {
        name: value for name, value in changes.items() if name != "config"
    }
    assert after["configured"] == ["headerValue", "headers"]


async def test_one_of_many_concurrent_deletes_succeeds(any_workspace: Workspace) -> None:
    path = f"{any_workspace.servers}/{any_workspace.make_server()['id']}"

    async with many_callers(any_workspace.plugboard.url, any_workspace.key) as callers:
        responses = await asyncio.gather(*(callers.delete(path) for _ in range(8)))

    assert sorted(response.status_code for response in responses) == [204] + [404] * 7
    deleted = [
        item for item in any_workspace.admin.get(any_workspace.audit).json() if item["action"] == "server.deleted"
    ]
    assert len(deleted) == 1


@AT_LENGTH
@pytest.mark.requirement("REL-07")
@pytest.mark.parametrize("detach", ["false", "true"])
async def test_no_agent_keeps_a_deleted_server(any_workspace: Workspace, detach: str) -> None:
    """One deletes a server while others enable it, in a new agent and in one that is there."""
    async with many_callers(any_workspace.plugboard.url, any_workspace.key) as callers:
        for turn in range(ROUNDS):
            server, agent = any_workspace.make_server(), any_workspace.make_agent()
            enable = {"enabledMcpServerIds": [server["id"]]}

            requests = [
                callers.delete(f"{any_workspace.servers}/{server['id']}", params={"detach": detach}),
                callers.post(any_workspace.agents, json={"name": "New"} | enable),
                callers.put(f"{any_workspace.agents}/{agent['id']}", json=enable),
            ]
            first = turn % 3  # each is ahead of the others in its turn
            responses = await asyncio.gather(*requests[first:], *requests[:first])
            deleted, created, changed = responses[-first:] + responses[:-first]

            assert deleted.status_code in (204, 409), deleted.text
            assert created.status_code in (201, 422), created.text
            assert changed.status_code in (200, 422), changed.text
            servers = {item["id"] for item in (await callers.get(any_workspace.servers)).json()}
            for item in (await callers.get(any_workspace.agents, params={"limit": 100})).json():
                assert set(item["enabledMcpServerIds"]) <= servers
            if deleted.status_code == 409:
                in_use = await callers.delete(f"{any_workspace.servers}/{server['id']}")
                assert in_use.status_code == 409


async def test_a_detached_server_stays_off_concurrently_changed_agents(any_workspace: Workspace) -> None:
    server, other = any_workspace.make_server(), any_workspace.make_server()
    both = {"enabledMcpServerIds": [server["id"], other["id"]]}
    agents = [any_workspace.make_agent(**both) for _ in range(4)]

    async with many_callers(any_workspace.plugboard.url, any_workspace.key) as callers:
        responses = await asyncio.gather(
            callers.delete(f"{any_workspace.servers}/{server['id']}", params={"detach": "true"}),
            *(callers.put(f"{any_workspace.agents}/{agent['id']}", json={"name": "Renamed"}) for agent in agents),
            *(
                callers.put(f"{any_workspace.agents}/{agent['id']}", json={"instructions": "Be brief."})
                for agent in agents
            ),
        )
        after = (await callers.get(any_workspace.agents)).json()

    assert [response.status_code for response in responses] == [204] + [200] * 8
    for item in after:
        assert (item["name"], item["instructions"]) == ("Renamed", "Be brief.")
        assert (item["enabledMcpServerIds"], item["version"]) == ([other["id"]], 4)
