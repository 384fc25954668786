"""The third point at which a URL is judged, and the one that counts: when something is about to be sent to it."""

import asyncio
import itertools
import socketserver
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from api.access.context import partition_of
from api.kit.egress.policy import EgressPolicy
from api.kit.storage.store import Always, Key, Put
from api.kit.transport_errors import Fault
from api.main.container import build_container
from api.main.settings import Settings
from api.servers.repository import server_key
from tests.corpus.urls import HOSTILE, LEADING_INSIDE
from tests.fakes.connect_recorder import connections_except
from tests.fakes.hostile_mcp import mcp
from tests.fakes.raw_upstream import closing_after, upstream_in_thread
from tests.harness import Plugboard, Workspace, many_callers, served

KINDS = sorted({hostile.kind for hostile in HOSTILE})
NOT_REACHED = "Error calling MCP server: The upstream could not be reached."
NOT_ALLOWED = f"Error calling MCP server: {Fault.EGRESS_REFUSED.explanation}"
UNKNOWN = f"Error calling MCP server: {Fault.UNKNOWN_HOST.explanation}"
NO_TLS = f"Error calling MCP server: {Fault.TLS_FAILED.explanation}"
HEADER = {"authType": "header", "config": {"headerValue": "Bearer canary-egress"}}
NONE: dict[str, Any] = {"authType": "none", "config": {}}
MOST_SERVERS = 40


@dataclass(frozen=True)
class Stored:
    """Servers of one workspace whose URLs are hostile, by kind; saved as good ones and changed behind our back."""

    plugboard: Plugboard
    workspace: Workspace
    by_kind: Mapping[str, Sequence[str]]


def unexpected_lookup(name: str) -> Sequence[str]:
    raise AssertionError(name)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("stored"))
    by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
    with served(settings) as before:
        workspace = before.make_workspace()
        for hostile in HOSTILE:
            server = workspace.make_server(name=f"Server {hostile.kind}"[:50], **NONE)
            by_kind[hostile.kind].append(server["id"])
    urls = {server_id: item for kind in KINDS for server_id, item in zip(by_kind[kind], of_kind(kind), strict=True)}
    asyncio.run(rewritten(settings, workspace.id, urls))
    with served(settings, lookup=unexpected_lookup) as after:
        yield Stored(after, Workspace(after, workspace.id, workspace.key, after.caller(workspace.key)), by_kind)


def of_kind(kind: str) -> list[str]:
    return [hostile.url for hostile in HOSTILE if hostile.kind == kind]


async def rewritten(settings: Settings, workspace_id: str, urls: Mapping[str, str]) -> None:
    parts = await build_container(settings)
    try:
        for server_id, url in urls.items():
            key = Key(partition_of(workspace_id), server_key(server_id))
            item = await parts.store.get(key)
            assert item is not None
            await parts.store.write(Put(key, {**item.data, "url": url}, Always()))
    finally:
        await parts.close()


async def call_list_and_check(workspace: Workspace, server_ids: Sequence[str]) -> list[str]:
    """The errors of a list, a check and a call of each server: agents read the same of all."""
    async with many_callers(workspace.plugboard.url, workspace.key) as http:
        notes = []
        for few in (server_ids[at : at + MOST_SERVERS] for at in range(0, len(server_ids), MOST_SERVERS)):
            draft = {"name": "A", "enabledMcpServerIds": list(few)}
            agent = f"{workspace.agents}/{(await http.post(workspace.agents, json=draft)).json()['id']}"
            listed = (await http.get(f"{agent}/tools")).json()
            notes += [item["detail"] for item in listed["unavailable"] if item["reason"] == "unreachable"]
            for server_id in few:
                checked = (await http.post(f"{workspace.servers}/{server_id}/check")).json()
                notes.append(checked["detail"] if checked["status"] == "unreachable" else str(checked))
                call = {"toolName": f"mcp_{server_id}", "args": {"method": "tools/list"}}
                result = (await http.post(f"{agent}/tool-calls", json=call)).json()
                notes.append(result["text"] if result["error"]["kind"] == "upstream_unavailable" else str(result))
    return notes


@pytest.mark.requirement("EGR-02")
@pytest.mark.requirement("EGR-03")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_stored_hostile_url_gets_no_connection(stored: Stored, kind: str) -> None:
    ids = stored.by_kind[kind]
    with connections_except(port_of(stored.plugboard)) as dialled:
        text = await call_list_and_check(stored.workspace, ids)

    assert Counter(text) == {NOT_REACHED: len(ids), NOT_ALLOWED: 2 * len(ids)}
    assert dialled == []


def port_of(plugboard: Plugboard) -> int:
    return int(urlsplit(plugboard.url).port or 0)


@pytest.mark.requirement("EGR-03")
@pytest.mark.requirement("EGR-16")
@pytest.mark.parametrize("fields", [HEADER, NONE], ids=["with a credential", "without"])
def test_a_host_that_is_no_longer_allowed_gets_no_connection(tmp_path: Path, fields: dict[str, Any]) -> None:
    with upstream_in_thread(mcp({})) as there:
        with served(Settings(data_dir=tmp_path, egress=EgressPolicy.parse("127.0.0.1/32"))) as allowing:
            workspace = allowing.make_workspace()
            server = workspace.make_server(url=there.url("/mcp"), **fields)
            checked = workspace.admin.post(f"{workspace.servers}/{server['id']}/check").json()
            before = there.connections
        with served(Settings(data_dir=tmp_path)) as strict, connections_except(port_of(strict)) as dialled:
            again = Workspace(strict, workspace.id, workspace.key, strict.caller(workspace.key))
            text = asyncio.run(call_list_and_check(again, [server["id"]]))

    assert (checked["status"], before > 0) == ("ok", True)
    assert text == [NOT_ALLOWED, NOT_ALLOWED, NOT_REACHED]
    assert dialled == []
    assert there.connections == before


@pytest.mark.requirement("EGR-03")
@pytest.mark.requirement("EGR-04")
@pytest.mark.requirement("EGR-16")
def test_a_name_with_a_private_address_gets_no_connection(tmp_path: Path) -> None:
    responses = {str(urlsplit(case.url).hostname): case.answers for case in LEADING_INSIDE}
    with (
        upstream_in_thread(closing_after()) as canary,
        served(Settings(data_dir=tmp_path), lookup=responses.__getitem__) as plugboard,
    ):
        workspace = plugboard.make_workspace()
        urls = [f"{case.url.rstrip('/')}:{canary.port}/mcp" for case in LEADING_INSIDE]
        ids = [workspace.make_server(url=url, **NONE)["id"] for url in urls]
        with connections_except(port_of(plugboard)) as dialled:
            text = asyncio.run(call_list_and_check(workspace, ids))

    unknown = sum(not case.answers for case in LEADING_INSIDE)
    blocked = len(LEADING_INSIDE) - unknown
    assert Counter(text) == Counter({NOT_REACHED: unknown + blocked, UNKNOWN: 2 * unknown, NOT_ALLOWED: 2 * blocked})
    assert dialled == []
    assert canary.connections == 0


@contextmanager
def slamming(host: str, port: int) -> Iterator[list[object]]:
    """Closes each connection at once, and remembers who came."""
    arrived: list[object] = []
    server = socketserver.TCPServer((host, port), lambda _, caller, __: arrived.append(caller))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield arrived
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.requirement("EGR-07")
def test_a_name_that_alternates_between_public_and_private_addresses_never_connects_privately(tmp_path: Path) -> None:
    """127.0.0.2 stands for what is outside."""
    turns = itertools.cycle([["127.0.0.2"], ["127.0.0.1"], ["127.0.0.2", "127.0.0.1"]])
    settings = Settings(data_dir=tmp_path, egress=EgressPolicy.parse("127.0.0.2/32"))
    with (
        upstream_in_thread(closing_after()) as canary,
        slamming("127.0.0.2", canary.port) as connections,
        served(settings, lookup=lambda _: next(turns)) as plugboard,
    ):
        workspace = plugboard.make_workspace()
        server = workspace.make_server(url=f"https://rebinding.example.com:{canary.port}/mcp", **HEADER)
        with connections_except(port_of(plugboard)) as dialled:
            results = [workspace.admin.post(f"{workspace.servers}/{server['id']}/check").json() for _ in range(120)]

    assert Counter(result["detail"] for result in results) == {NO_TLS: 40, NOT_ALLOWED: 80}
    assert canary.connections == 0
    assert len(connections) == 40
    assert dialled == [("127.0.0.2", canary.port)] * 40
