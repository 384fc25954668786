"""Whatever comes between whom: no refresh token is shown twice, unless somebody died between its use and its successor.

Processes take turns at a store and at a provider, in any order; some die at any of their steps, which is to say that
they never get another turn. Time passes only where nobody who lives has a lease: to be quicker than that is their part.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Self
from urllib.parse import parse_qs

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from api.access.context import WorkspaceContext, partition_of
from api.access.principal import Principal, Scope
from api.access.repository import revision_key
from api.audit.journal import Journal
from api.connections.encryption import TokenSealer
from api.connections.grant_secrets import GrantSecrets
from api.connections.oauth_clients import OAuthClients
from api.connections.repository import ACCESS, REFRESH, Grant, GrantRepository, OAuthClientRef
from api.connections.revocation.grant_end import GrantEnd
from api.connections.tokens.access_tokens import AccessToken, AccessTokens
from api.connections.tokens.errors import ReconnectRequired
from api.connections.tokens.policy import RefreshPolicy
from api.connections.tokens.refresh import TokenRefresher
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.root_keys import LocalRootKeys
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Vault
from api.kit.egress.policy import EgressPolicy
from api.kit.storage.revision_cache import RevisionCache, Snapshot
from api.kit.storage.store import (
    Change,
    Check,
    Conflict,
    Delete,
    IfAbsent,
    IfPresent,
    IfVersion,
    Item,
    Key,
    Put,
    StoreUnavailable,
)
from api.servers.repository import server_key
from api.servers.server import Connection, Server
from integrations import AuthorizationServer, OAuthClient
from tests.connections.tokens.refresh_process import StoreWrapper, step_of
from tests.fakes.still_clock import StillClock

W = "w"
QUICK = RefreshPolicy(lease=1.0, answer=0.5, grace=0.2)
PROVIDER = AuthorizationServer("https://as.example.com/authorize", "https://as.example.com/token")
SERVER = Server(
    *("server", "Acme", "acme", "", "https://acme.example.com/mcp", "oauth", "external"),
    *(True, 30, "both", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"),
    connection=Connection("grant", "2026-01-01T00:00:00.000Z"),
)
SCRIPT = st.lists(
    st.tuples(st.sampled_from(["step"] * 8 + ["die", "busy", "lost"]), st.integers(0, 1000)), max_size=150
)


class MemoryStore:
    """A store as its port describes it, as far as is needed here."""

    def __init__(self) -> None:
        self._items: dict[Key, tuple[int, bytes]] = {}

    async def get(self, key: Key) -> Item | None:
        version, data = self._items.get(key, (0, b""))
        return Item(key, msgspec.json.decode(data), version) if data else None

    async def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        return {key: item for key in keys if (item := await self.get(key))}

    async def query(self, pk: str, prefix: str = "", **_: Any) -> list[Item]:
        raise NotImplementedError

    async def write(self, *changes: Change) -> None:
        if failed := [change.key for change in changes if not self._holds(change)]:
            raise Conflict(failed)
        for change in changes:
            match change:
                case Put():
                    self._items[change.key] = change.version, msgspec.json.encode(change.data)
                case Delete():
                    self._items.pop(change.key, None)
                case Check():
                    pass

    def _holds(self, change: Change) -> bool:
        version, _ = self._items.get(change.key, (None, b""))
        match change.condition:
            case IfAbsent():
                return version is None
            case IfPresent():
                return version is not None
            case IfVersion(wanted):
                return version == wanted
            case _:
                return True

    async def close(self) -> None:
        pass


@dataclass(frozen=True)
class Turn:
    process: int
    what: str
    given: asyncio.Future[str]


@dataclass
class Simulation:
    """Who waits for a turn, who is dead, and who has the lease."""

    clock: StillClock = field(default_factory=StillClock)
    waiting: list[Turn] = field(default_factory=list)
    dead: set[int] = field(default_factory=set)
    holder: int | None = None
    unstored: int | None = None
    """Who has used the refresh token, and has not stored its successor yet."""

    was_unlucky: bool = False

    async def turn(self, process: int, what: str) -> str:
        turn = Turn(process, what, asyncio.get_running_loop().create_future())
        self.waiting.append(turn)
        return await turn.given

    def kill(self, process: int) -> None:
        self.dead.add(process)
        self.was_unlucky |= process == self.unstored
        self.waiting = [item for item in self.waiting if item.process != process]

    def may_pass(self) -> bool:
        return self.holder is None or self.holder in self.dead


class SharedStore(StoreWrapper):
    """The store, as one process reaches it."""

    def __init__(self, store: MemoryStore, world: Simulation, process: int) -> None:
        super().__init__(store)
        self._world, self._process = world, process

    async def get(self, key: Key) -> Item | None:
        await self._world.turn(self._process, "read")
        return await super().get(key)

    async def write(self, *changes: Change) -> None:
        step = step_of(changes)
        how = await self._world.turn(self._process, step)
        if how == "busy":
            raise StoreUnavailable("not now")
        await super().write(*changes)
        if step:
            self._world.holder = self._process if step == "lease" else None
            self._world.unstored = None
        if how == "lost":
            raise StoreUnavailable("nobody knows")


@dataclass
class TokenEndpoint:
    """It rotates, and revokes all where a token is shown twice."""

    world: Simulation
    good: int = 0
    reuses: int = 0
    shown: list[int] = field(default_factory=list)

    def answer(self, refresh: str) -> tuple[int, Mapping[str, object]]:
        generation = int(refresh.removeprefix("refresh-"))
        self.shown.append(generation)
        if generation != self.good:
            self.reuses += 1
            self.good = -1
            return 400, {"error": "invalid_grant"}
        self.good += 1
        return 200, {"access_token": f"access-{self.good}", "refresh_token": f"refresh-{self.good}", "expires_in": 100}


@dataclass
class PendingRequest:
    """A request for tokens and its answer, each of which takes its time."""

    endpoint: TokenEndpoint
    process: int
    body: bytes
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    told: Mapping[str, object] = field(default_factory=dict)

    async def __aenter__(self) -> Self:
        world = self.endpoint.world
        await world.turn(self.process, "asks")
        self.status, self.told = self.endpoint.answer(parse_qs(self.body.decode())["refresh_token"][0])
        if self.status == 200:
            world.unstored = self.process
        await world.turn(self.process, "is told")
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def read(self) -> bytes:
        return json.dumps(self.told).encode()


@dataclass(frozen=True)
class Setup:
    store: MemoryStore
    world: Simulation
    endpoint: TokenEndpoint
    ctx: WorkspaceContext

    def keeper(self, process: int) -> AccessTokens:
        """One process, from the parts that renewing needs."""
        store, world = SharedStore(self.store, self.world, process), self.world
        sealer = self.sealer()
        apps = {"external": OAuthClient("plugboard", "none")}
        clients = OAuthClients(store, sealer, apps, world.clock)
        endings = GrantEnd(store, Journal(store, world.clock), sealer, clients, SimpleNamespace())  # type: ignore[arg-type]
        http = SimpleNamespace(
            request=lambda _method, _url, _headers, body: PendingRequest(self.endpoint, process, body)
        )
        auth_http = SimpleNamespace(for_server=lambda *_: http)
        refresher = TokenRefresher(
            sealer,
            authorization_requests=SimpleNamespace(),  # type: ignore[arg-type]
            oauth_clients=clients,
            auth_http=auth_http,  # type: ignore[arg-type]
        )

        async def pause(seconds: float) -> None:
            await world.turn(process, "waits")
            if world.may_pass():
                world.clock.advance(seconds)

        return AccessTokens(
            store,
            sealer,
            world.clock,
            refresher=refresher,
            grant_end=endings,
            grant_secrets=GrantSecrets(store, sealer, clients),
            policy=QUICK,
            pause=pause,
        )

    def sealer(self) -> TokenSealer:
        """Keys are at hand in all processes; they are not what is tried here."""
        return TokenSealer(Vault(KeyRing(self.store, ROOTS, self.world.clock)), EgressPolicy())


ROOTS = LocalRootKeys({"root": Secret(bytes(32))})


async def set_up() -> Setup:
    """A server whose token has expired."""
    store, world = MemoryStore(), Simulation()
    partition = partition_of(W)
    ctx = WorkspaceContext(
        W, Principal("api_key", "key", "key", Scope.ADMIN), Snapshot(partition, 1, RevisionCache(store)), "test"
    )
    setting = Setup(store, world, TokenEndpoint(world), ctx)
    await store.write(*await KeyRing(store, ROOTS, world.clock).first_key_changes(partition))
    await store.write(Put(Key(partition, server_key(SERVER.id)), SERVER.encode(), IfAbsent()))
    await store.write(Put(revision_key(partition), {}, IfAbsent()))
    sealed, check = await setting.sealer().seal_tokens(ctx, SERVER, {ACCESS: "access-0", REFRESH: "refresh-0"})
    grant = Grant("grant", SERVER.id, msgspec.to_builtins(PROVIDER), OAuthClientRef("service", "plugboard", "none"), ())
    ended = replace(grant, sealed=sealed, renewed_at=world.clock.now() - 100, expires_at=world.clock.now())
    await GrantRepository(store, ctx).save(ended, check)
    return setting


async def settled() -> None:
    """Until all wait for a turn."""
    for _ in range(12):
        await asyncio.sleep(0)


def follow(world: Simulation, action: str, number: int, most_dead: int) -> None:
    turn = world.waiting.pop(number % len(world.waiting))
    if action == "die" and len(world.dead) < most_dead:
        world.kill(turn.process)
    else:
        turn.given.set_result(action if turn.what == "tokens" else "step")


async def play(script: Sequence[tuple[str, int]], processes: int, callers: int) -> tuple[Setup, list[object]]:
    """What all callers of those who live have got in the end."""
    setting = await set_up()
    world, server = setting.world, replace(SERVER, version=1)
    keepers = [setting.keeper(number) for number in range(processes)]
    requests = [
        (number, keepers[number].get(setting.ctx, server)) for number in range(processes) for _ in range(callers)
    ]
    tasks = [(item, asyncio.create_task(wanted)) for item, wanted in requests]
    await settled()
    moves = iter(script)
    for step in range(10_000):
        living = [task for process, task in tasks if process not in world.dead]
        if all(task.done() for task in living):
            break
        follow(world, *next(moves, ("step", step)), most_dead=processes - 1)
        await settled()
    else:
        raise AssertionError("they never came to an end")
    results = await asyncio.gather(*living, return_exceptions=True)
    everybody = asyncio.all_tasks() - {asyncio.current_task()}
    for task in everybody:
        task.cancel()
    await asyncio.gather(*everybody, return_exceptions=True)
    return setting, results


@settings(max_examples=300, deadline=None)
@given(SCRIPT, st.integers(2, 4), st.integers(1, 3))
def test_no_sequence_of_events_spends_a_refresh_token_twice(
    script: list[tuple[str, int]], processes: int, callers: int
) -> None:
    setting, received = asyncio.run(play(script, processes, callers))

    if setting.world.was_unlucky:
        assert setting.endpoint.shown == [0, 0]
        assert {type(item) for item in received} <= {ReconnectRequired, AccessToken}
    else:
        assert setting.endpoint.shown == [0]
        assert {item.token if isinstance(item, AccessToken) else item for item in received} == {"access-1"}
