"""One more process that serves the same, as far as tokens are concerned: its clock and its store are the test's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from api.access.context import WorkspaceContext
from api.connections.dependencies import AuthServerHttpFactory
from api.connections.grant_secrets import GrantSecrets
from api.connections.repository import PREFIX, Grant, GrantRepository
from api.connections.tokens.access_tokens import AccessToken, AccessTokens
from api.connections.tokens.policy import Pause, RefreshPolicy
from api.connections.tokens.refresh import TokenRefresher
from api.kit.clock import Clock, SystemClock
from api.kit.storage.store import Change, Item, Key, Put, Store
from api.main.container import Container, build_container
from api.servers.records import ServerRecords
from api.servers.server import Server
from demo.oauth_provider.server import Tenant
from tests.connections.workspace_owner import WorkspaceOwner
from tests.harness import bearer

USUAL = RefreshPolicy()


@dataclass(frozen=True)
class TokenDeps:
    """What a test can replace."""

    store: Store
    auth_http: AuthServerHttpFactory


Decorator = Callable[[TokenDeps], TokenDeps]


def unchanged(deps: TokenDeps) -> TokenDeps:
    return deps


def with_store(wrapped: Callable[[Store], Store]) -> Decorator:
    return lambda deps: replace(deps, store=wrapped(deps.store))


class AdjustableClock(Clock, Protocol):
    """A clock that a test can advance, so that tokens expire at once."""

    seconds: float


class ShiftedClock(SystemClock):
    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def now(self) -> float:
        return super().now() + self.seconds


class StoreWrapper:
    """A store that is reached by another."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def write(self, *changes: Change) -> None:
        await self.store.write(*changes)

    async def get(self, key: Key) -> Item | None:
        return await self.store.get(key)

    async def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        return await self.store.get_many(keys)

    async def query(self, pk: str, prefix: str = "", **options: Any) -> list[Item]:
        return await self.store.query(pk, prefix, **options)

    async def close(self) -> None:
        await self.store.close()


@dataclass
class Process:
    parts: Container
    keeper: AccessTokens
    clock: AdjustableClock
    ctx: WorkspaceContext

    async def server(self, server_id: str) -> Server:
        result = await ServerRecords(self.parts.store, self.ctx).get(server_id)
        assert result is not None
        return result

    async def fresh(self, server_id: str, refused: AccessToken | None = None) -> AccessToken:
        return await self.keeper.get(self.ctx, await self.server(server_id), refused=refused)

    async def grant(self, server_id: str) -> Grant:
        result = await self.grant_or_none(server_id)
        assert result is not None
        return result

    async def grant_or_none(self, server_id: str) -> Grant | None:
        return await GrantRepository(self.parts.store, self.ctx).get(server_id)


@asynccontextmanager
async def process(
    owner: WorkspaceOwner,
    *,
    clock: AdjustableClock | None = None,
    ahead: float = 0.0,
    timing: RefreshPolicy = USUAL,
    pause: Pause = asyncio.sleep,
    equipped: Decorator = unchanged,
) -> AsyncIterator[Process]:
    """`equipped` replaces the store or the HTTP access of the token refreshes."""
    clock = clock or ShiftedClock(ahead)
    parts = with_token_refresh(
        await build_container(owner.workspace.plugboard.settings, clock), timing, pause, equipped
    )
    try:
        ctx = await parts.authenticator.authenticate(bearer(owner.workspace.key), owner.workspace.id, "test")
        yield Process(parts, parts.connections.tokens, clock, ctx)
    finally:
        await parts.close()


def with_token_refresh(
    parts: Container, timing: RefreshPolicy, pause: Pause = asyncio.sleep, equipped: Decorator = unchanged
) -> Container:
    """The container with token refreshes as the test needs them."""
    connections = parts.connections
    deps = equipped(TokenDeps(parts.store, connections.auth_http))
    refresher = TokenRefresher(
        connections.sealer,
        authorization_requests=connections.authorization_requests,
        oauth_clients=connections.oauth_clients,
        auth_http=deps.auth_http,
    )
    tokens = AccessTokens(
        deps.store,
        connections.sealer,
        parts.clock,
        refresher=refresher,
        grant_end=connections.grant_end,
        grant_secrets=GrantSecrets(deps.store, connections.sealer, connections.oauth_clients),
        policy=timing,
        pause=pause,
    )
    return replace(parts, connections=replace(connections, tokens=tokens))


async def until_held(tenant: Tenant, n: int = 1) -> None:
    """Until so many requests for tokens wait at the provider."""
    await asyncio.to_thread(tenant.wait_until_held, "token", n)


def step_of(changes: Sequence[Change]) -> str:
    """Whether it is `lease` or `tokens` (or why there are none) that is stored of a grant; empty for anything else."""
    grants = [change.data for change in changes if isinstance(change, Put) and change.key.sk.startswith(PREFIX)]
    if not grants:
        return ""
    if grants[0]["lease"]["owner"]:
        return "lease"
    return "tokens" if grants[0]["sealed"] else ""
