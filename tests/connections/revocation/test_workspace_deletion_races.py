"""What if something else happens after the end of a grant was prepared, and before it is written?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from api.access.context import WorkspaceContext
from api.access.peppers import SYSTEM
from api.connections.revocation.job import PREFIX
from api.connections.revocation.queue import CLAIM_SECONDS, LEAVING_SECONDS
from api.kit.storage.store import Conflict
from api.main.container import Container, build_container
from api.servers.records import ServerRecords
from api.servers.server import Server as McpServer
from demo.oauth_provider.server import OAuthProvider, Tenant
from tests.connections.workspace_owner import WorkspaceOwner, clear_revocation_jobs, revocation_jobs, wait_until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, bearer


@dataclass(frozen=True)
class StoreWrapper:
    """A process in which things are done step by step."""

    parts: Container
    ctx: WorkspaceContext

    async def server(self, server_id: str) -> McpServer:
        result = await ServerRecords(self.parts.store, self.ctx).get(server_id)
        assert result is not None
        return result

    async def left(self) -> int:
        return len(await self.parts.store.query(SYSTEM, PREFIX))


@asynccontextmanager
async def beside(owner: WorkspaceOwner, clock: StillClock) -> AsyncIterator[StoreWrapper]:
    parts = await build_container(owner.workspace.plugboard.settings, clock)
    try:
        ctx = await parts.authenticator.authenticate(bearer(owner.workspace.key), owner.workspace.id, "test")
        yield StoreWrapper(parts, ctx)
    finally:
        await parts.close()


@pytest.fixture(autouse=True)
def with_an_empty_outbox(timed: Plugboard) -> Iterator[None]:
    yield
    clear_revocation_jobs(timed)


@pytest.fixture
def acme(provider: OAuthProvider) -> Tenant:
    return provider.tenant("acme")


@pytest.fixture
def owner(timed: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(timed)


async def connected(owner: WorkspaceOwner, tenant: Tenant) -> str:
    return await asyncio.to_thread(lambda: owner.connected(owner.remote(tenant)))


@pytest.mark.requirement("OAU-15", "OAU-16")
async def test_tokens_refreshed_during_the_deletion_are_revoked(
    owner: WorkspaceOwner, acme: Tenant, clock: StillClock
) -> None:
    server_id = await connected(owner, acme)
    async with beside(owner, clock) as here:
        server = await here.server(server_id)
        endings, tokens = here.parts.connections.grant_end, here.parts.connections.tokens
        prepared = await endings.end_changes(here.ctx, server)

        clock.advance(3600)
        await tokens.get(here.ctx, server)

        with pytest.raises(Conflict):  # so that it is prepared again, with the tokens as they are now
            await here.parts.store.write(*prepared)


@pytest.mark.requirement("OAU-16")
async def test_a_failed_deletion_of_a_workspace_keeps_its_grants(
    owner: WorkspaceOwner, acme: Tenant, clock: StillClock
) -> None:
    """The process was killed in the middle of it, say."""
    await connected(owner, acme)
    async with beside(owner, clock) as here:
        outbox = here.parts.connections.revocation_queue
        await here.parts.connections.grant_end.revoke_all(here.ctx)
        assert await here.left() == 1

        await outbox.work_off()
        clock.advance(CLAIM_SECONDS)
        await outbox.work_off()
        assert await here.left() == 1

        clock.advance(LEAVING_SECONDS)
        await outbox.work_off()
        assert await here.left() == 0
    assert acme.requests_to("revoke") == []
    assert len(acme.live_tokens("access")) == len(acme.live_tokens("refresh")) == 1


@pytest.mark.requirement("OAU-16")
async def test_a_deletion_that_succeeds_at_the_second_attempt_revokes_each_grant_once(
    owner: WorkspaceOwner, acme: Tenant, clock: StillClock
) -> None:
    await connected(owner, acme)
    async with beside(owner, clock) as here:
        await here.parts.connections.grant_end.revoke_all(here.ctx)
        clock.advance(LEAVING_SECONDS - 1)

        await asyncio.to_thread(owner.admin.delete, owner.workspace.path)
        await asyncio.to_thread(wait_until, lambda: revocation_jobs(owner.workspace.plugboard) == [])

    assert (acme.live_tokens("access"), acme.live_tokens("refresh")) == ([], [])
    assert len(acme.requests_to("revoke")) == 2
