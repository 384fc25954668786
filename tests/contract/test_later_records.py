"""Records of a later version are read, changed and written back without losing what this version does not know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from api.access.context import WorkspaceContext, partition_of
from api.access.principal import Principal, Scope
from api.access.repository import ApiKeyRecord, ApiKeyRepository, add_key
from api.agents.agent import Agent
from api.agents.repository import AgentRepository
from api.audit.repository import AuditRecord, AuditRepository, add_record
from api.connections.client_repository import ClientRegistration, ClientRegistrationRepository, ClientSecretUse
from api.connections.consent.state import AuthorizationState
from api.connections.repository import Grant, GrantRepository, OAuthClientRef, RefreshLease
from api.connections.revocation.job import RevocationJob
from api.kit.clock import rfc3339
from api.kit.storage.revision_cache import RevisionCache, Snapshot
from api.kit.storage.store import IfVersion, Item, Key, Put, Store
from api.main.container import Container, build_container
from api.servers.repository import ServerRepository
from api.servers.server import Connection, Server
from api.toolbox.protocol_repository import ProtocolRepository
from api.workspaces.repository import Workspace as WorkspaceItem
from api.workspaces.repository import WorkspaceDirectory, WorkspaceRecord
from integrations import Era
from tests.fakes.root_keys import ring_with_key
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, Workspace

W = "ws_later"
LONG = 4_000_000_000
LATER = {"colour": "red", "shape": {"sides": 3}}
CLIENT = OAuthClientRef("registered", "client-1", "none")
GRANT = Grant("grant-1", "server-1", {"issuer": "https://a.example"}, CLIENT, ("read",), lease=RefreshLease("me", 9.0))
SERVER = Server(
    id="server-1",
    name="Weather",
    slug="weather",
    description="",
    url="https://weather.example.com/mcp",
    auth_type="oauth",
    service_type="external",
    enabled=True,
    timeout_seconds=30,
    exposure="direct",
    created_at="2026-01-01T00:00:00.000Z",
    updated_at="2026-01-01T00:00:00.000Z",
    connection=Connection("grant-1", "2026-01-01T00:00:00.000Z", granted=("read",)),
)
AGENT = Agent("agent-1", "Support", "", "", ["server-1"], {}, "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z")
WORKSPACE = WorkspaceItem(W, "Acme", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z")
KEY = ApiKeyRecord("key-1", "CI", Scope.INVOKE, "hash", 1, "2026-01-01T00:00:00.000Z", "key-0", ("agent-1",))
REGISTRATION = ClientRegistration("https://a.example", "client-1", "none", "https://b.example/callback", ("read",))
USE = ClientSecretUse("server-1", "https://a.example", {"mark": "sealed"})


def context(store: Store) -> WorkspaceContext:
    snapshot = Snapshot(partition_of(W), 1, RevisionCache(store))
    return WorkspaceContext(W, Principal("api_key", "key-1", "CI", Scope.ADMIN), snapshot, "request-1")


async def with_later_fields(store: Store, key: Key, *inner: str) -> dict[str, Any]:
    """The stored data with the fields of a later version, in the record and in the objects `inner` of it."""
    item = await store.get(key)
    assert item is not None
    data = {**item.data, **LATER, **{name: {**item.data[name], **LATER} for name in inner}}
    await store.write(Put(key, data, IfVersion(item.version), item.expires_at))
    return data


async def data_at(store: Store, key: Key) -> Mapping[str, Any]:
    item = await store.get(key)
    assert item is not None
    return item.data


async def test_a_changed_server_keeps_what_a_later_version_stored(store: Store) -> None:
    servers, key = ServerRepository(store, context(store)), Key(partition_of(W), "SERVER#server-1")
    await store.write(*servers.add(SERVER))
    later = await with_later_fields(store, key, "connection")

    old = await servers.get("server-1")
    assert old is not None
    assert old.connection is not None
    ended = replace(old.connection, ended="revoked")
    await store.write(*servers.replace(old, replace(old, name="Forecast", connection=ended)))

    connection = {**later["connection"], "ended": "revoked"}
    assert await data_at(store, key) == {**later, "name": "Forecast", "connection": connection}
    assert (await servers.page(10, None))[0].name == "Forecast"


async def test_a_changed_agent_keeps_what_a_later_version_stored(store: Store) -> None:
    agents, key = AgentRepository(store, context(store)), Key(partition_of(W), "AGENT#agent-1")
    await store.write(*agents.add(AGENT))
    later = await with_later_fields(store, key)

    old = await agents.get("agent-1")
    assert old is not None
    await store.write(*agents.replace(old, replace(old, name="Sales")))

    assert await data_at(store, key) == {**later, "name": "Sales"}


async def test_a_changed_workspace_keeps_what_a_later_version_stored(store: Store) -> None:
    workspace, key = WorkspaceRecord(store, context(store)), Key(partition_of(W), "META")
    await store.write(*WorkspaceDirectory(store).add(WORKSPACE))
    later = await with_later_fields(store, key)

    old = await workspace.get()
    assert old is not None
    await store.write(*workspace.replace(old, replace(old, name="Acme Ltd")))

    assert await data_at(store, key) == {**later, "name": "Acme Ltd"}
    assert (await WorkspaceDirectory(store).page_by_id(10, None))[0].name == "Acme Ltd"


async def test_an_api_key_of_a_later_version_is_read(store: Store) -> None:
    partition = partition_of(W)
    await store.write(*add_key(partition, KEY))
    later = await with_later_fields(store, Key(partition, "KEY#key-1"))
    await with_later_fields(store, Key("APIKEY#key-1", "OWNER"))

    key = await ApiKeyRepository(store).get(partition, "key-1")
    assert key is not None
    assert await ApiKeyRepository(store).owner("key-1") == partition
    assert key.rights(partition) == KEY.rights(partition)
    assert key.encode() == {**later, "agent_ids": ("agent-1",)}


async def test_a_renewed_grant_keeps_what_a_later_version_stored(store: Store) -> None:
    grants, key = GrantRepository(store, context(store)), Key(partition_of(W), "GRANT#server-1")
    await grants.save(GRANT)
    later = await with_later_fields(store, key, "client", "lease")

    grant = await grants.get("server-1")
    assert grant is not None
    kept = await grants.save(replace(grant, generation=1, lease=replace(grant.lease, until=10.0)))

    lease = {**later["lease"], "until": 10.0}
    assert await data_at(store, key) == {**later, "generation": 1, "lease": lease}
    assert (await grants.page(10, None))[0] == kept


async def test_a_registration_keeps_what_a_later_version_stored(store: Store) -> None:
    clients = ClientRegistrationRepository(store, context(store))
    await clients.save(REGISTRATION, LONG)
    key = Key(partition_of(W), REGISTRATION.key)
    later = await with_later_fields(store, key)

    await clients.mark_doubted(REGISTRATION.issuer, REGISTRATION.id, is_doubted=True)
    registration = await clients.get(REGISTRATION.issuer, REGISTRATION.id)
    assert registration is not None
    assert registration.is_doubted
    await clients.save(replace(registration, expires_at=12.0), LONG)

    assert await data_at(store, key) == {**later, "is_doubted": True, "expires_at": 12.0}
    assert await clients.list_by_issuer(REGISTRATION.issuer) == [
        await clients.get(REGISTRATION.issuer, REGISTRATION.id)
    ]


async def test_a_client_secret_record_keeps_what_a_later_version_stored(store: Store) -> None:
    clients = ClientRegistrationRepository(store, context(store))
    await clients.save_secret_use(USE)
    key = Key(partition_of(W), USE.key)
    later = await with_later_fields(store, key)

    first = await clients.secret_use("server-1")
    assert first is not None
    await clients.save_secret_use(replace(first, issuer="https://other.example"))

    assert await data_at(store, key) == {**later, "issuer": "https://other.example"}


async def test_an_audit_record_of_a_later_version_is_read(store: Store, clock: StillClock) -> None:
    record = AuditRecord(
        rfc3339(clock.now()), "server.updated", "server", "server-1", "Weather", "api_key", "key-1", "CI", "request-1"
    )
    added = add_record(W, replace(record, fields=("name",)), clock.now(), 0)
    await store.write(added)
    await with_later_fields(store, added.key)

    (read,) = await AuditRepository(store, W).page(10, None, clock.now(), record.at)

    assert replace(read, extra={}) == replace(record, fields=("name",), id=added.key.sk)


async def test_a_protocol_record_of_a_later_version_is_read(store: Store) -> None:
    ctx = context(store)
    added = ServerRepository(store, ctx).add(SERVER)
    await store.write(*added)
    server = await ServerRepository(store, ctx).get("server-1")
    assert server is not None
    eras = ProtocolRepository(store, ctx)
    await eras.keep(server, Era("streamable", "2025-11-25"))
    await with_later_fields(store, Key(partition_of(W), "PROTOCOL#server-1"), "era")

    assert await eras.get(server) == Era("streamable", "2025-11-25")


async def test_data_keys_keep_what_a_later_version_stored(store: Store) -> None:
    ring = await ring_with_key(store)
    partition = "WS#w"
    await with_later_fields(store, Key(partition, "DATAKEY#000001"))
    later = await with_later_fields(store, Key(partition, "DATAKEY"))

    assert await ring.rotate(partition) == 2
    assert await data_at(store, Key(partition, "DATAKEY")) == {**later, "active": 2}
    assert await ring.key(partition, 1) != await ring.key(partition, 2)
    assert await ring.retire(partition, await ring.head(partition)) == 1
    assert await data_at(store, Key(partition, "DATAKEY")) == {**later, "active": 2, "minimum": 2}


def item_of(data: Mapping[str, Any]) -> Item:
    return Item(Key("P", "S"), data, 1)


def test_states_and_revocation_jobs_keep_what_a_later_version_stored() -> None:
    state = AuthorizationState(
        W, "server-1", "Weather", "external", None, "place", "given", "key-1", {}, CLIENT, ("read",), "https://b", None
    )
    job = RevocationJob(W, "notion", {"revocation": None}, CLIENT, since=1.0, due=1.0)
    for kind, record in ((AuthorizationState, state), (RevocationJob, job)):
        data = {**record.encode(), **LATER, "client": {**CLIENT.encode(), **LATER}}
        read = kind.of(item_of(data))
        assert read.encode() == data
        assert replace(read, extra={}, client=CLIENT) == record


@dataclass
class Through:
    """One kind of record that is changed over HTTP."""

    path: Callable[[Workspace], str]
    sk: Callable[[str], str]


KINDS = {
    "server": Through(lambda workspace: f"{workspace.servers}/{workspace.make_server()['id']}", "SERVER#{}".format),
    "agent": Through(lambda workspace: f"{workspace.agents}/{workspace.make_agent()['id']}", "AGENT#{}".format),
    "workspace": Through(lambda workspace: workspace.path, lambda _: "META"),
}


@asynccontextmanager
async def another_process(plugboard: Plugboard) -> AsyncIterator[Container]:
    container = await build_container(plugboard.settings)
    try:
        yield container
    finally:
        await container.close()


async def add_later_fields(plugboard: Plugboard, key: Key) -> None:
    async with another_process(plugboard) as container:
        await with_later_fields(container.store, key)


async def stored(plugboard: Plugboard, key: Key) -> Mapping[str, Any]:
    async with another_process(plugboard) as container:
        return await data_at(container.store, key)


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_over_http_keeps_what_a_later_version_stored(any_plugboard: Plugboard, kind: str) -> None:
    workspace = any_plugboard.make_workspace()
    path = KINDS[kind].path(workspace)
    key = Key(partition_of(workspace.id), KINDS[kind].sk(path.rpartition("/")[2]))
    asyncio.run(add_later_fields(any_plugboard, key))

    changed = workspace.admin.put(path, json={"name": "Renamed"})

    assert changed.status_code == 200, changed.text
    assert changed.json().keys().isdisjoint(LATER)
    data = asyncio.run(stored(any_plugboard, key))
    assert data["name"] == "Renamed"
    assert {name: data[name] for name in LATER} == LATER


def test_an_api_key_of_a_later_version_opens_its_workspace_and_is_revoked(any_plugboard: Plugboard) -> None:
    workspace = any_plugboard.make_workspace()
    api_key = workspace.make_key("read")
    asyncio.run(add_later_fields(any_plugboard, Key(partition_of(workspace.id), f"KEY#{api_key['id']}")))

    reader = any_plugboard.caller(api_key["apiKey"])
    assert reader.get(workspace.servers).status_code == 200
    assert workspace.admin.delete(f"{workspace.api_keys}/{api_key['id']}").status_code == 204
    assert reader.get(workspace.servers).status_code == 401


def test_a_repeated_request_whose_record_a_later_version_wrote_is_answered_again(any_plugboard: Plugboard) -> None:
    workspace = any_plugboard.make_workspace()
    post = {"json": {"name": "Support"}, "headers": {"Idempotency-Key": "later"}}
    first = workspace.admin.post(workspace.agents, **post)
    asyncio.run(add_later_fields(any_plugboard, asyncio.run(idempotency_record(workspace))))

    again = workspace.admin.post(workspace.agents, **post)

    assert (again.status_code, again.json()) == (201, first.json())
    assert len(workspace.admin.get(workspace.agents).json()) == 1


async def idempotency_record(workspace: Workspace) -> Key:
    async with another_process(workspace.plugboard) as container:
        (item,) = await container.store.query(partition_of(workspace.id), "IDEMPOTENCY#")
        return item.key
