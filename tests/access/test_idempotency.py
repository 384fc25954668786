"""A repeated POST creates one object."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import WEATHER, Plugboard, Workspace, many_callers, served
from tests.operations import is_replayed, stripped

DAY = 24 * 3600.0
CREATED = ["mcp-servers", "agents", "api-keys"]
DRAFTS: dict[str, dict[str, Any]] = {
    "mcp-servers": WEATHER,
    "agents": {"name": "Support"},
    "api-keys": {"name": "CI", "scope": "read"},
}


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def timed(tmp_path: Path, clock: StillClock) -> Iterator[Workspace]:
    with served(Settings(data_dir=tmp_path), clock) as plugboard:
        yield plugboard.make_workspace()


def post_with_key(caller: httpx2.Client, path: str, body: Any, key: str = "first") -> httpx2.Response:
    return caller.post(path, json=body, headers={"Idempotency-Key": key})


@pytest.mark.requirement("REL-01")
@pytest.mark.parametrize("kind", CREATED)
def test_a_repeated_request_gets_the_same_response_and_creates_nothing(any_workspace: Workspace, kind: str) -> None:
    path = f"{any_workspace.path}/{kind}"
    before = len(any_workspace.admin.get(path).json())

    first, second = (post_with_key(any_workspace.admin, path, DRAFTS[kind]) for _ in range(2))

    assert first.status_code == 201
    assert stripped(first) == stripped(second)
    assert [is_replayed(first), is_replayed(second)] == [False, True]
    assert {"etag", "location"} <= set(second.headers)
    assert len(any_workspace.admin.get(path).json()) == before + 1


@pytest.mark.requirement("REL-01")
def test_a_workspace_is_created_once_and_its_key_is_shown_again(any_plugboard: Plugboard) -> None:
    operator = any_plugboard.operator
    key = secrets.token_hex(8)  # the operator is everyone's
    first, second = (post_with_key(operator, "/api/workspaces", {"name": "Twice"}, key) for _ in range(2))

    assert first.status_code == 201
    assert stripped(first) == stripped(second)
    assert any_plugboard.caller(second.json()["apiKey"]).get(second.headers["Location"]).status_code == 200


@pytest.mark.requirement("REL-01")
def test_the_secret_of_a_key_is_shown_again_to_its_creator(workspace: Workspace) -> None:
    keys = [post_with_key(workspace.admin, workspace.api_keys, DRAFTS["api-keys"]).json()["apiKey"] for _ in range(2)]

    assert keys[0] == keys[1]
    assert workspace.plugboard.caller(keys[1]).get(workspace.servers).status_code == 200


@pytest.mark.requirement("REL-01")
def test_a_key_used_with_another_body_is_refused(workspace: Workspace) -> None:
    assert post_with_key(workspace.admin, workspace.servers, WEATHER).status_code == 201

    for body in (WEATHER | {"name": "Other"}, WEATHER | {"config": {"headerValue": "other"}}, WEATHER | {"slug": "x"}):
        response = post_with_key(workspace.admin, workspace.servers, body)
        assert (response.status_code, response.json()["code"]) == (422, "idempotency_key_reused")
    assert len(workspace.admin.get(workspace.servers).json()) == 1


def test_another_spelling_of_the_same_json_is_the_same_body(workspace: Workspace) -> None:
    headers = {"Idempotency-Key": "spelling", "Content-Type": "application/json"}
    compact = workspace.admin.post(workspace.agents, content=b'{"name":"A","description":"b"}', headers=headers)
    airy = workspace.admin.post(
        workspace.agents, content=b'{ "description": "b",\n "name": "\\u0041" }', headers=headers
    )

    assert compact.status_code == 201
    assert compact.content == airy.content


@pytest.mark.requirement("REL-01")
def test_paths_workspaces_and_principals_have_separate_keys(workspace: Workspace) -> None:
    other, colleague = workspace.plugboard.make_workspace(), workspace.caller("manage")
    responses = [
        post_with_key(workspace.admin, workspace.agents, {"name": "x"}),
        post_with_key(colleague, workspace.agents, {"name": "x"}),
        post_with_key(other.admin, other.agents, {"name": "x"}),
        post_with_key(workspace.admin, workspace.servers, WEATHER),
    ]

    assert [response.status_code for response in responses] == [201] * 4
    assert len({response.json()["id"] for response in responses}) == 4


@pytest.mark.requirement("REL-03")
def test_a_failed_request_leaves_its_key_free(workspace: Workspace) -> None:
    responses = [
        {"name": ""},
        {"name": "x", "unknown": 1},
        {"name": "x", "enabledMcpServerIds": ["server_none"]},
    ]
    for body in responses:
        assert post_with_key(workspace.admin, workspace.agents, body).status_code == 422

    assert post_with_key(workspace.admin, workspace.agents, {"name": "x"}).status_code == 201


def test_a_slug_that_was_taken_leaves_the_key_free(workspace: Workspace) -> None:
    taken = workspace.make_server(slug="taken")
    assert post_with_key(workspace.admin, workspace.servers, WEATHER | {"slug": "taken"}).status_code == 409

    workspace.admin.delete(f"{workspace.servers}/{taken['id']}")

    assert post_with_key(workspace.admin, workspace.servers, WEATHER | {"slug": "taken"}).status_code == 201


@pytest.mark.requirement("REL-02")
async def test_one_of_fifty_concurrent_requests_creates_and_all_get_its_response(any_workspace: Workspace) -> None:
    headers = {"Idempotency-Key": "fifty"}
    async with many_callers(any_workspace.plugboard.url, any_workspace.key) as callers:
        sent = [callers.post(any_workspace.servers, json=WEATHER, headers=headers) for _ in range(50)]
        responses = await asyncio.gather(*sent)

    assert {response.status_code for response in responses} == {201}
    assert len({str(stripped(response)) for response in responses}) == 1
    assert [is_replayed(response) for response in responses].count(False) == 1
    assert [item["id"] for item in any_workspace.admin.get(any_workspace.servers).json()] == [responses[0].json()["id"]]
    actions = [item["action"] for item in any_workspace.admin.get(any_workspace.audit).json()]
    assert actions.count("server.created") == 1


@pytest.mark.requirement("REL-02")
async def test_one_of_two_concurrent_bodies_is_created(workspace: Workspace) -> None:
    headers = {"Idempotency-Key": "either"}
    async with many_callers(workspace.plugboard.url, workspace.key) as callers:
        bodies = [{"name": f"agent {number % 2}"} for number in range(20)]
        responses = await asyncio.gather(
            *(callers.post(workspace.agents, json=body, headers=headers) for body in bodies)
        )

    assert sorted(response.status_code for response in responses) == [201] * 10 + [422] * 10
    assert len(workspace.admin.get(workspace.agents).json()) == 1


@pytest.mark.requirement("REL-01")
def test_a_key_is_kept_for_a_day(timed: Workspace, clock: StillClock) -> None:
    first = post_with_key(timed.admin, timed.agents, {"name": "x"}).json()["id"]

    clock.advance(DAY - 1)
    assert post_with_key(timed.admin, timed.agents, {"name": "x"}).json()["id"] == first
    clock.advance(1)
    second = post_with_key(timed.admin, timed.agents, {"name": "x"}).json()["id"]
    assert second != first
    assert post_with_key(timed.admin, timed.agents, {"name": "x"}).json()["id"] == second


@pytest.mark.parametrize("key", [b"", b"x" * 256, "schlüssel".encode(), b"a b", b"tab\tbed", b"\xff"])
def test_an_idempotency_key_has_a_format(workspace: Workspace, key: bytes) -> None:
    response = workspace.admin.post(workspace.agents, json={"name": "x"}, headers=[(b"Idempotency-Key", key)])

    assert response.status_code == 422
    assert [error["path"] for error in response.json()["errors"]] == ["Idempotency-Key"]
    assert workspace.admin.get(workspace.agents).json() == []


def test_the_longest_key_is_accepted(workspace: Workspace) -> None:
    assert post_with_key(workspace.admin, workspace.agents, {"name": "x"}, "~" * 255).status_code == 201


def test_the_replayed_response_is_that_of_the_first_request(workspace: Workspace) -> None:
    first = post_with_key(workspace.admin, workspace.agents, {"name": "x"})
    workspace.admin.delete(first.headers["Location"])

    assert post_with_key(workspace.admin, workspace.agents, {"name": "x"}).content == first.content


@pytest.mark.requirement("REL-03", "ENC-16")
def test_the_record_of_a_request_reveals_nothing_of_its_content(tmp_path: Path) -> None:
    body = WEATHER | {"authType": "basic", "config": {"username": "canary-user", "password": "canary-pass"}}
    with served(Settings(data_dir=tmp_path)) as plugboard:
        workspace = plugboard.make_workspace()
        created = post_with_key(workspace.admin, workspace.servers, body)
        key = post_with_key(workspace.admin, workspace.api_keys, DRAFTS["api-keys"]).json()["apiKey"]
    dump = b"".join(file.read_bytes() for file in tmp_path.glob("plugboard.db*"))

    assert created.status_code == 201
    for text in (b"canary", key.encode(), key.split("_")[2].encode()):
        assert text not in dump
    for guess in guesses(body, workspace.servers):
        assert hashlib.sha256(guess).hexdigest().encode() not in dump


def guesses(body: Any, path: str) -> list[bytes]:
    """What an unkeyed hash of the request could be of."""
    texts = [json.dumps(body, sort_keys=True), json.dumps(body), json.dumps(body, separators=(",", ":"))]
    parts: list[Callable[[str], list[str]]] = [lambda text: [text], lambda text: ["POST", path, "", text]]
    results = [part(text) for part in parts for text in texts]
    return [
        glue.encode()
        for result in results
        for glue in ("".join(result), "".join(f"{len(part)}:{part}" for part in result), "\n".join(result))
    ]


def test_only_the_same_principal_gets_the_response_again(workspace: Workspace) -> None:
    first = post_with_key(workspace.admin, workspace.api_keys, DRAFTS["api-keys"]).json()
    other = workspace.caller("admin")

    assert post_with_key(other, workspace.api_keys, DRAFTS["api-keys"]).json()["apiKey"] != first["apiKey"]
