"""A revocation job of a later version is worked on, and keeps what this version does not know."""

from __future__ import annotations

import asyncio

from api.access.peppers import SYSTEM
from api.connections.revocation.job import PREFIX
from api.connections.revocation.queue import CLAIM_SECONDS
from api.kit.storage.store import IfVersion, Put
from api.main.container import build_container
from demo.oauth_provider.server import Fault, OAuthProvider
from tests.connections.workspace_owner import WorkspaceOwner, revocation_jobs, wait_until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard


def disconnect_while_it_is_down(plugboard: Plugboard, provider: OAuthProvider) -> None:
    """Leaves a job that was tried once."""
    provider.tenant("notion").inject_fault("revoke", Fault("down"), times=None)
    owner = WorkspaceOwner.at(plugboard)
    owner.disconnect(owner.connected(owner.service("notion")))
    wait_until(lambda: all(item.data["tries"] for item in revocation_jobs(plugboard)))


async def test_a_job_of_a_later_version_runs_and_keeps_its_fields(
    timed: Plugboard, provider: OAuthProvider, clock: StillClock
) -> None:
    await asyncio.to_thread(disconnect_while_it_is_down, timed, provider)
    clock.advance(CLAIM_SECONDS)
    container = await build_container(timed.settings, clock)
    try:
        (item,) = await container.store.query(SYSTEM, PREFIX)
        later = {**item.data, "colour": "red", "client": {**item.data["client"], "colour": "red"}}
        await container.store.write(Put(item.key, later, IfVersion(item.version)))

        await container.connections.revocation_queue.work_off()
        (postponed,) = await container.store.query(SYSTEM, PREFIX)
        assert postponed.data["tries"] == later["tries"] + 1
        assert {**postponed.data, "tries": later["tries"], "due": later["due"]} == later

        provider.tenant("notion").clear_faults()
        clock.seconds = postponed.data["due"]
        await container.connections.revocation_queue.work_off()
        assert await container.store.query(SYSTEM, PREFIX) == []
    finally:
        await container.close()
    assert provider.tenant("notion").live_tokens("refresh") == []
