"""Every pending revocation is eventually executed once, despite failures of the provider or of Plugboard."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from api.access.peppers import SYSTEM
from api.connections.revocation.job import PREFIX
from api.connections.revocation.queue import CLAIM_SECONDS, KEPT_SECONDS, LONGEST_WAIT
from api.kit.crypto.secret import Secret
from api.kit.storage.store import Always, Item, Key, Put
from api.main.container import Container, build_container
from api.main.settings import OAuthApp, Settings
from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.workspace_owner import WorkspaceOwner, clear_revocation_jobs, revocation_jobs, wait_until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, served

CLOSED_PORT = "http://127.0.0.1:9/revoke"
GONE = '{"error": "invalid_token"}'

# The provider has not executed the revocation, or has executed it without a response.
TROUBLE = {
    "an outage": Fault("down"),
    "a server error": Fault("down", status=500),
    "a failing proxy": Fault("down", status=404),
    "a rate limit": Fault("busy"),
    "a closed connection": Fault("close"),
    "a redirect": Fault("redirect", location="https://elsewhere.example.com/"),
    "a late failure": Fault("down", status=504, after=True),
    "a lost response": Fault("close", after=True),
}
Fields = dict[str, object]
Disconnect = Callable[..., Awaitable[Tenant]]


@pytest.fixture
def settings(timed: Plugboard) -> Settings:
    return timed.settings


@pytest.fixture(autouse=True)
def with_an_empty_outbox(timed: Plugboard) -> Iterator[None]:
    yield
    clear_revocation_jobs(timed)


@pytest.fixture
def disconnect(provider: OAuthProvider, timed: Plugboard) -> Disconnect:
    """Disconnects a service during a fault of its provider, so that the first revocation fails."""

    async def disconnect_during_fault(
        service: str = "notion", fault: Fault = TROUBLE["an outage"], many: int = 1
    ) -> Tenant:
        tenant = provider.tenant(service)
        tenant.inject_fault("revoke", fault, times=None)
        await asyncio.to_thread(disconnected, timed, service, many)
        await asyncio.to_thread(wait_until, lambda: len(tenant.requests_to("revoke")) >= many and all_tried(timed))
        return tenant

    return disconnect_during_fault


def disconnected(plugboard: Plugboard, service: str, many: int = 1) -> None:
    owner = WorkspaceOwner.at(plugboard)
    servers = [owner.connected(owner.service(service)) for _ in range(many)]
    for server in servers:
        owner.disconnect(server)


def all_tried(plugboard: Plugboard) -> bool:
    return all(item.data["tries"] for item in revocation_jobs(plugboard))


@asynccontextmanager
async def process(settings: Settings, clock: StillClock) -> AsyncIterator[Container]:
    """A process that runs pending revocations only on request."""
    parts = await build_container(settings, clock)
    try:
        yield parts
    finally:
        await parts.close()


async def pending_jobs(parts: Container) -> list[Item]:
    return await parts.store.query(SYSTEM, PREFIX)


async def work_when_due(parts: Container, clock: StillClock) -> None:
    """Advances the clock to the first due job and runs all due jobs."""
    clock.seconds = max(clock.seconds, min(item.data["due"] for item in await pending_jobs(parts)))
    await parts.connections.revocation_queue.work_off()


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize("trouble", TROUBLE)
async def test_a_failed_revocation_succeeds_after_a_restart(
    disconnect: Disconnect, settings: Settings, clock: StillClock, trouble: str
) -> None:
    notion = await disconnect(fault=TROUBLE[trouble])
    async with process(settings, clock) as parts:
        await parts.connections.revocation_queue.work_off()
        assert len(await pending_jobs(parts)) == 1

        notion.clear_faults()
        clock.advance(CLAIM_SECONDS)
        await parts.connections.revocation_queue.work_off()

        assert await pending_jobs(parts) == []
    assert (notion.live_tokens("access"), notion.live_tokens("refresh")) == ([], [])
    assert notion.requests_to("revoke")[-1].status == 200


@pytest.mark.requirement("OAU-15")
async def test_a_starting_process_runs_pending_revocations_first(
    disconnect: Disconnect, settings: Settings, clock: StillClock
) -> None:
    notion = await disconnect()
    notion.clear_faults()
    clock.advance(CLAIM_SECONDS)
    request_count = len(notion.requests_to("revoke"))
    notion.inject_fault("revoke", Fault("hold", after=True))

    def served_again() -> None:
        with served(settings, clock):
            notion.wait_until_held("revoke")
            notion.release_held()

    await asyncio.to_thread(served_again)

    assert len(notion.requests_to("revoke")) == request_count + 1
    assert notion.live_tokens("access") == []


@pytest.mark.requirement("OAU-15")
async def test_a_revocation_interrupted_by_a_stop_is_completed_by_the_next_process(
    disconnect: Disconnect, settings: Settings, clock: StillClock
) -> None:
    notion = await disconnect()
    notion.clear_faults()
    notion.inject_fault("revoke", Fault("hold"))
    clock.advance(CLAIM_SECONDS)

    def stopped_meanwhile() -> None:
        with served(settings, clock):
            notion.wait_until_held("revoke")

    await asyncio.to_thread(stopped_meanwhile)
    notion.release_held()

    async with process(settings, clock) as parts:
        await parts.connections.revocation_queue.work_off()  # the other process may still be working on it
        assert len(await pending_jobs(parts)) == 1
        clock.advance(CLAIM_SECONDS)
        await parts.connections.revocation_queue.work_off()
        assert await pending_jobs(parts) == []


@pytest.mark.requirement("OAU-15")
async def test_two_processes_share_the_queue_without_duplicates(
    disconnect: Disconnect, settings: Settings, clock: StillClock
) -> None:
    notion = await disconnect(many=6)
    notion.clear_faults()
    before = len(notion.requests_to("revoke"))
    clock.advance(CLAIM_SECONDS)

    async with process(settings, clock) as one, process(settings, clock) as other:
        outboxes = [item.connections.revocation_queue for item in (one, other, one, other)]
        await asyncio.gather(*(outbox.work_off() for outbox in outboxes))
        assert await pending_jobs(one) == []

    texts = [request.fields["token"] for request in notion.requests_to("revoke")[before:]]
    assert len(texts) == len(set(texts)) == 6
    assert notion.live_tokens("access") == []


@pytest.mark.requirement("OAU-15")
async def test_a_hanging_revocation_delays_no_other(
    disconnect: Disconnect, provider: OAuthProvider, timed: Plugboard, settings: Settings, clock: StillClock
) -> None:
    await disconnect("notion")
    linear = await disconnect("linear")
    notion = provider.tenant("notion")
    notion.clear_faults()
    linear.clear_faults()
    clock.advance(CLAIM_SECONDS)
    notion.inject_fault("revoke", Fault("hold"))

    async with process(settings, clock) as parts:
        work = asyncio.create_task(parts.connections.revocation_queue.work_off())
        await asyncio.to_thread(notion.wait_until_held, "revoke")
        await asyncio.to_thread(wait_until, lambda: len(revocation_jobs(timed)) == 1)
        assert linear.live_tokens("refresh") == []
        notion.release_held()
        await work
        assert await pending_jobs(parts) == []


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize(
    "change",
    [{"provider": None}, {"provider": {"revocation": {"url": "https://[x/"}}}, {"due": "soon"}],
    ids=["no provider", "an invalid URL", "an invalid time"],
)
async def test_an_unreadable_job_delays_no_other(
    disconnect: Disconnect, settings: Settings, clock: StillClock, caplog: pytest.LogCaptureFixture, change: Fields
) -> None:
    notion = await disconnect()
    notion.clear_faults()
    clock.advance(CLAIM_SECONDS)
    async with process(settings, clock) as parts:
        entry = (await pending_jobs(parts))[0]
        unknown = Put(Key(SYSTEM, f"{PREFIX}0"), {**entry.data, **change}, Always())
        await parts.store.write(unknown)

        await parts.connections.revocation_queue.work_off()

        assert [item.key.sk for item in await pending_jobs(parts)] == [unknown.key.sk]
    assert notion.live_tokens("access") == []
    # The process that served the disconnect may have come across the job as well.
    assert {record.levelno for record in caplog.records if "revocation job" in record.message} == {logging.ERROR}


async def test_retries_become_rarer_and_end_after_a_week(
    disconnect: Disconnect, settings: Settings, clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    begun = clock.now()
    await disconnect(fault=TROUBLE["a closed connection"])
    pauses: list[float] = []
    async with process(settings, clock) as parts:
        while await pending_jobs(parts):
            before = clock.now()
            await work_when_due(parts, clock)
            pauses.append(clock.now() - before)

    assert KEPT_SECONDS < clock.now() - begun < KEPT_SECONDS + 1.2 * LONGEST_WAIT
    assert pauses[0] <= 36
    assert all(later > 1.2 * earlier for earlier, later in pairwise(pauses[:9]))
    assert all(0.8 * LONGEST_WAIT <= pause <= 1.2 * LONGEST_WAIT for pause in pauses[11:])
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "a token could not be revoked for a week: giving up"
    ]


async def test_retry_after_is_respected(disconnect: Disconnect, settings: Settings, clock: StillClock) -> None:
    notion = await disconnect(fault=Fault("busy", retry_after=3000))
    request_count = len(notion.requests_to("revoke"))
    async with process(settings, clock) as parts:
        clock.advance(2999)
        await parts.connections.revocation_queue.work_off()
        assert len(notion.requests_to("revoke")) == request_count

        clock.advance(1)
        await parts.connections.revocation_queue.work_off()
        assert len(notion.requests_to("revoke")) == request_count + 1


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize(("service", "status"), [("notion", 400), ("linear", 401), ("hubspot", 404), ("linear", 400)])
async def test_a_token_unknown_to_the_provider_counts_as_revoked(
    disconnect: Disconnect, settings: Settings, clock: StillClock, service: str, status: int
) -> None:
    await disconnect(service, Fault("down", status=status, body=GONE))

    async with process(settings, clock) as parts:
        assert await pending_jobs(parts) == []


@pytest.mark.parametrize("word", ["ratelimited", "service_unavailable"])
async def test_a_temporary_refusal_is_retried(
    disconnect: Disconnect, settings: Settings, clock: StillClock, word: str
) -> None:
    slack = await disconnect("slack", Fault("text", body=f'{{"ok": false, "error": "{word}"}}'))
    async with process(settings, clock) as parts:
        assert len(await pending_jobs(parts)) == 1
        slack.clear_faults()
        await work_when_due(parts, clock)
        assert await pending_jobs(parts) == []
    assert slack.live_tokens("access") == []


@pytest.mark.requirement("OAU-15")
async def test_an_unreachable_provider_is_retried(
    provider: OAuthProvider, settings: Settings, clock: StillClock, tmp_path: Path
) -> None:
    addresses = {**settings.addresses, "NOTION_OAUTH_REVOKE_URL": CLOSED_PORT}
    alone = replace(settings, data_dir=tmp_path, addresses=addresses)
    await asyncio.to_thread(served_and_disconnected, alone, clock)

    async with process(alone, clock) as parts:
        tried = (await pending_jobs(parts))[0].data["tries"]
        clock.advance(CLAIM_SECONDS)
        await parts.connections.revocation_queue.work_off()
        assert [item.data["tries"] for item in await pending_jobs(parts)] == [tried + 1]
    assert len(provider.tenant("notion").live_tokens("access")) == 1


def served_and_disconnected(settings: Settings, clock: StillClock) -> None:
    with served(settings, clock) as plugboard:
        disconnected(plugboard, "notion")


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize(("service", "needs_it"), [("notion", True), ("hubspot", True), ("linear", False)])
@pytest.mark.parametrize("app", ["none", "another"])
async def test_tokens_of_another_app_wait_until_that_app_is_configured_again(
    disconnect: Disconnect, settings: Settings, clock: StillClock, service: str, needs_it: bool, app: str
) -> None:
    tenant = await disconnect(service)
    tenant.clear_faults()
    clock.advance(CLAIM_SECONDS)
    request_count = len(tenant.requests_to("revoke"))
    other = {service.upper(): OAuthApp("another-app", Secret("canary-of-another"))} if app == "another" else {}
    without = {name: mine for name, mine in settings.oauth_apps.items() if name != service.upper()}

    async with process(replace(settings, oauth_apps=without | other), clock) as parts:
        await parts.connections.revocation_queue.work_off()
        assert len(await pending_jobs(parts)) == needs_it
        assert (len(tenant.requests_to("revoke")) == request_count) is needs_it
    async with process(settings, clock) as parts:
        clock.advance(KEPT_SECONDS / 2)
        await parts.connections.revocation_queue.work_off()
        assert await pending_jobs(parts) == []
    assert tenant.live_tokens("refresh") == []


@pytest.mark.requirement("OAU-15", "OAU-20")
async def test_stored_jobs_contain_no_plaintext_secret(
    provider: OAuthProvider, timed: Plugboard, settings: Settings, clock: StillClock
) -> None:
    acme, beta, _ = tenants = [provider.tenant(name) for name in ("acme", "beta", "linear")]
    for tenant in tenants:
        tenant.inject_fault("revoke", TROUBLE["an outage"], times=None)
    await asyncio.to_thread(connected_and_deleted, timed, acme, "client_secret_basic")
    await asyncio.to_thread(connected_and_deleted, timed, beta, "registered")
    await asyncio.to_thread(disconnected, timed, "linear")
    tokens = [token for tenant in tenants for kind in ("access", "refresh") for token in tenant.live_tokens(kind)]
    clients = [client.secret for tenant in tenants for client in tenant.clients.values()]
    assert (len(tokens), len(clients)) == (6, 3)

    async with process(settings, clock) as parts:
        stored = json.dumps([item.data for item in await pending_jobs(parts)])

    assert stored.count('"tokens"') >= 3
    assert not [secret for secret in (*tokens, *filter(None, clients)) if secret in stored]


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize("way", ["client_secret_basic", "client_secret_post", "private_key_jwt", "none", "registered"])
async def test_a_client_authenticates_after_its_server_was_deleted(
    provider: OAuthProvider, timed: Plugboard, clock: StillClock, way: str
) -> None:
    acme = provider.tenant("acme")
    acme.inject_fault("revoke", TROUBLE["an outage"], times=None)
    await asyncio.to_thread(connected_and_deleted, timed, acme, way)
    acme.clear_faults()
    request_count = len(acme.requests_to("revoke"))

    async with process(timed.settings, clock) as parts:
        clock.advance(CLAIM_SECONDS)
        await parts.connections.revocation_queue.work_off()
        assert await pending_jobs(parts) == []

    assert [request.status for request in acme.requests_to("revoke")[request_count:]] == [200, 200]
    assert (acme.live_tokens("access"), acme.live_tokens("refresh")) == ([], [])


def connected_and_deleted(plugboard: Plugboard, tenant: Tenant, way: str) -> None:
    owner = WorkspaceOwner.at(plugboard)
    config: Mapping[str, str] = {} if way == "registered" else {"clientId": "acme-client"}
    if way == "private_key_jwt":
        private, public = key_pair()
        tenant.add_client("acme-client", public_key=public)
        config = {**config, "privateKey": private}
    elif way != "registered":
        has_secret = way != "none"
        tenant.configure(auth_methods=(way,))
        tenant.add_client("acme-client", secret="canary-acme" if has_secret else None, auth=way)
        config = {**config, "clientSecret": "canary-acme"} if has_secret else config
    owner.delete(owner.connected(owner.remote(tenant, config=config)))
    wait_until(lambda: tenant.requests_to("revoke") and all_tried(plugboard))


def key_pair() -> tuple[str, str]:
    key = generate_private_key(SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()
