"""Whatever happens to a provider or to this service, what is to be revoked is revoked in the end, and once."""

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
from demo.oauth_provider.server import Fault, Server, Tenant
from tests.connections.workspace_owner import WorkspaceOwner, clear_revocation_jobs, revocation_jobs, wait_until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, served

NOTHING_HAPPENS_THERE = "http://127.0.0.1:9/revoke"
GONE = '{"error": "invalid_token"}'

# In the order of what comes of it: nothing is done, or it is done and nobody is told.
TROUBLE = {
    "it is down": Fault("down"),
    "it fails": Fault("down", status=500),
    "somebody before it fails": Fault("down", status=404),
    "it is busy": Fault("busy"),
    "it hangs up": Fault("close"),
    "it sends elsewhere": Fault("redirect", location="https://elsewhere.example.com/"),
    "it is slow, and fails": Fault("down", status=504, after=True),
    "its answer is lost": Fault("close", after=True),
}
Left = Callable[..., Awaitable[Tenant]]


@pytest.fixture
def settings(timed: Plugboard) -> Settings:
    return timed.settings


@pytest.fixture(autouse=True)
def with_an_empty_outbox(timed: Plugboard) -> Iterator[None]:
    yield
    clear_revocation_jobs(timed)


@pytest.fixture
def left(provider: Server, timed: Plugboard) -> Left:
    """Has a service disconnected while its provider is in trouble: the first try has come to nothing."""

    async def left_behind(service: str = "notion", fault: Fault = TROUBLE["it is down"], many: int = 1) -> Tenant:
        tenant = provider.tenant(service)
        tenant.fault("revoke", fault, times=None)
        await asyncio.to_thread(disconnected, timed, service, many)
        await asyncio.to_thread(wait_until, lambda: len(tenant.asked("revoke")) >= many and all_were_tried(timed))
        return tenant

    return left_behind


def disconnected(plugboard: Plugboard, service: str, many: int = 1) -> None:
    owner = WorkspaceOwner.at(plugboard)
    servers = [owner.connected(owner.service(service)) for _ in range(many)]
    for server in servers:
        owner.disconnect(server)


def all_were_tried(plugboard: Plugboard) -> bool:
    return all(item.data["tries"] for item in revocation_jobs(plugboard))


@asynccontextmanager
async def process(settings: Settings, clock: StillClock) -> AsyncIterator[Container]:
    """One that works on what is left only when it is told to."""
    parts = await build_container(settings, clock)
    try:
        yield parts
    finally:
        await parts.close()


async def waiting(parts: Container) -> list[Item]:
    return await parts.store.query(SYSTEM, PREFIX)


async def work_when_due(parts: Container, clock: StillClock) -> None:
    """Past the time of the first that is due."""
    clock.seconds = max(clock.seconds, min(item.data["due"] for item in await waiting(parts)))
    await parts.connections.revocation_queue.work_off()


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize("trouble", TROUBLE)
async def test_a_failed_revocation_succeeds_after_a_restart(
    left: Left, settings: Settings, clock: StillClock, trouble: str
) -> None:
    notion = await left(fault=TROUBLE[trouble])
    async with process(settings, clock) as parts:
        await parts.connections.revocation_queue.work_off()
        assert len(await waiting(parts)) == 1

        notion.heal()
        clock.advance(CLAIM_SECONDS)
        await parts.connections.revocation_queue.work_off()

        assert await waiting(parts) == []
    assert (notion.live("access"), notion.live("refresh")) == ([], [])
    assert notion.asked("revoke")[-1].status == 200


@pytest.mark.requirement("OAU-15")
async def test_a_starting_process_runs_pending_revocations_first(
    left: Left, settings: Settings, clock: StillClock
) -> None:
    notion = await left()
    notion.heal()
    clock.advance(CLAIM_SECONDS)
    asked = len(notion.asked("revoke"))
    notion.fault("revoke", Fault("hold", after=True))

    def served_again() -> None:
        with served(settings, clock):
            notion.until_held("revoke")
            notion.release()

    await asyncio.to_thread(served_again)

    assert len(notion.asked("revoke")) == asked + 1
    assert notion.live("access") == []


@pytest.mark.requirement("OAU-15")
async def test_a_revocation_interrupted_by_a_stop_is_completed_by_the_next_process(
    left: Left, settings: Settings, clock: StillClock
) -> None:
    notion = await left()
    notion.heal()
    notion.fault("revoke", Fault("hold"))
    clock.advance(CLAIM_SECONDS)

    def stopped_meanwhile() -> None:
        with served(settings, clock):
            notion.until_held("revoke")

    await asyncio.to_thread(stopped_meanwhile)
    notion.release()

    async with process(settings, clock) as parts:
        await parts.connections.revocation_queue.work_off()  # it may still be at it, as far as anybody can know
        assert len(await waiting(parts)) == 1
        clock.advance(CLAIM_SECONDS)
        await parts.connections.revocation_queue.work_off()
        assert await waiting(parts) == []


@pytest.mark.requirement("OAU-15")
async def test_two_processes_share_the_queue_without_duplicates(
    left: Left, settings: Settings, clock: StillClock
) -> None:
    notion = await left(many=6)
    notion.heal()
    before = len(notion.asked("revoke"))
    clock.advance(CLAIM_SECONDS)

    async with process(settings, clock) as one, process(settings, clock) as other:
        outboxes = [each.connections.revocation_queue for each in (one, other, one, other)]
        await asyncio.gather(*(outbox.work_off() for outbox in outboxes))
        assert await waiting(one) == []

    told = [asked.fields["token"] for asked in notion.asked("revoke")[before:]]
    assert len(told) == len(set(told)) == 6
    assert notion.live("access") == []


@pytest.mark.requirement("OAU-15")
async def test_a_hanging_revocation_delays_no_other(
    left: Left, provider: Server, timed: Plugboard, settings: Settings, clock: StillClock
) -> None:
    await left("notion")
    linear = await left("linear")
    notion = provider.tenant("notion")
    notion.heal()
    linear.heal()
    clock.advance(CLAIM_SECONDS)
    notion.fault("revoke", Fault("hold"))

    async with process(settings, clock) as parts:
        work = asyncio.create_task(parts.connections.revocation_queue.work_off())
        await asyncio.to_thread(notion.until_held, "revoke")
        await asyncio.to_thread(wait_until, lambda: len(revocation_jobs(timed)) == 1)
        assert linear.live("refresh") == []
        notion.release()
        await work
        assert await waiting(parts) == []


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize(
    "strange",
    [
        pytest.param({"provider": None}, id="without a provider"),
        pytest.param({"provider": {"revocation": {"url": "https://[x/"}}}, id="with what is no URL"),
        pytest.param({"due": "soon"}, id="with what is no time"),
    ],
)
async def test_an_unreadable_job_delays_no_other(
    left: Left, settings: Settings, clock: StillClock, caplog: pytest.LogCaptureFixture, strange: dict[str, object]
) -> None:
    notion = await left()
    notion.heal()
    clock.advance(CLAIM_SECONDS)
    async with process(settings, clock) as parts:
        entry = (await waiting(parts))[0]
        unknown = Put(Key(SYSTEM, f"{PREFIX}0"), {**entry.data, **strange}, Always())
        await parts.store.write(unknown)

        await parts.connections.revocation_queue.work_off()

        assert [item.key.sk for item in await waiting(parts)] == [unknown.key.sk]
    assert notion.live("access") == []
    assert [record.levelno for record in caplog.records if "revocation job" in record.message] == [logging.ERROR]


async def test_retries_become_rarer_and_end_after_a_week(
    left: Left, settings: Settings, clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    begun = clock.now()
    await left(fault=TROUBLE["it hangs up"])
    pauses: list[float] = []
    async with process(settings, clock) as parts:
        while await waiting(parts):
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


async def test_retry_after_is_respected(left: Left, settings: Settings, clock: StillClock) -> None:
    notion = await left(fault=Fault("busy", retry_after=3000))
    asked = len(notion.asked("revoke"))
    async with process(settings, clock) as parts:
        clock.advance(2999)
        await parts.connections.revocation_queue.work_off()
        assert len(notion.asked("revoke")) == asked

        clock.advance(1)
        await parts.connections.revocation_queue.work_off()
        assert len(notion.asked("revoke")) == asked + 1


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize(("service", "status"), [("notion", 400), ("linear", 401), ("hubspot", 404), ("linear", 400)])
async def test_a_token_unknown_to_the_provider_counts_as_revoked(
    left: Left, settings: Settings, clock: StillClock, service: str, status: int
) -> None:
    await left(service, Fault("down", status=status, body=GONE))

    async with process(settings, clock) as parts:
        assert await waiting(parts) == []


@pytest.mark.parametrize("word", ["ratelimited", "service_unavailable"])
async def test_a_temporary_refusal_is_retried(left: Left, settings: Settings, clock: StillClock, word: str) -> None:
    slack = await left("slack", Fault("text", body=f'{{"ok": false, "error": "{word}"}}'))
    async with process(settings, clock) as parts:
        assert len(await waiting(parts)) == 1
        slack.heal()
        await work_when_due(parts, clock)
        assert await waiting(parts) == []
    assert slack.live("access") == []


@pytest.mark.requirement("OAU-15")
async def test_an_unreachable_provider_is_retried(
    provider: Server, settings: Settings, clock: StillClock, tmp_path: Path
) -> None:
    addresses = {**settings.addresses, "NOTION_OAUTH_REVOKE_URL": NOTHING_HAPPENS_THERE}
    alone = replace(settings, data_dir=tmp_path, addresses=addresses)
    await asyncio.to_thread(served_and_disconnected, alone, clock)

    async with process(alone, clock) as parts:
        tried = (await waiting(parts))[0].data["tries"]
        clock.advance(CLAIM_SECONDS)
        await parts.connections.revocation_queue.work_off()
        assert [item.data["tries"] for item in await waiting(parts)] == [tried + 1]
    assert len(provider.tenant("notion").live("access")) == 1


def served_and_disconnected(settings: Settings, clock: StillClock) -> None:
    with served(settings, clock) as plugboard:
        disconnected(plugboard, "notion")


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize(("service", "needs_it"), [("notion", True), ("hubspot", True), ("linear", False)])
@pytest.mark.parametrize("app", ["none", "another"])
async def test_tokens_of_another_app_wait_until_that_app_is_configured_again(
    left: Left, settings: Settings, clock: StillClock, service: str, needs_it: bool, app: str
) -> None:
    tenant = await left(service)
    tenant.heal()
    clock.advance(CLAIM_SECONDS)
    asked = len(tenant.asked("revoke"))
    other = {service.upper(): OAuthApp("another-app", Secret("canary-of-another"))} if app == "another" else {}
    without = {name: mine for name, mine in settings.oauth_apps.items() if name != service.upper()}

    async with process(replace(settings, oauth_apps=without | other), clock) as parts:
        await parts.connections.revocation_queue.work_off()
        assert len(await waiting(parts)) == needs_it
        assert (len(tenant.asked("revoke")) == asked) is needs_it
    async with process(settings, clock) as parts:
        clock.advance(KEPT_SECONDS / 2)
        await parts.connections.revocation_queue.work_off()
        assert await waiting(parts) == []
    assert tenant.live("refresh") == []


@pytest.mark.requirement("OAU-15", "OAU-20")
async def test_stored_jobs_contain_no_plaintext_secret(
    provider: Server, timed: Plugboard, settings: Settings, clock: StillClock
) -> None:
    acme, beta, linear = (provider.tenant(name) for name in ("acme", "beta", "linear"))
    for tenant in (acme, beta, linear):
        tenant.fault("revoke", TROUBLE["it is down"], times=None)
    await asyncio.to_thread(connected_and_deleted, timed, acme, "client_secret_basic")
    await asyncio.to_thread(connected_and_deleted, timed, beta, "registered")
    await asyncio.to_thread(disconnected, timed, "linear")
    tokens = [text for each in (acme, beta, linear) for text in (*each.live("access"), *each.live("refresh"))]
    clients = [each.secret for tenant in (acme, beta, linear) for each in tenant.clients.values()]
    assert (len(tokens), len(clients)) == (6, 3)

    async with process(settings, clock) as parts:
        stored = json.dumps([item.data for item in await waiting(parts)])

    assert stored.count('"tokens"') >= 3
    assert not [secret for secret in (*tokens, *filter(None, clients)) if secret in stored]


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize("way", ["client_secret_basic", "client_secret_post", "private_key_jwt", "none", "registered"])
async def test_a_client_authenticates_after_its_server_was_deleted(
    provider: Server, timed: Plugboard, clock: StillClock, way: str
) -> None:
    acme = provider.tenant("acme")
    acme.fault("revoke", TROUBLE["it is down"], times=None)
    await asyncio.to_thread(connected_and_deleted, timed, acme, way)
    acme.heal()
    asked = len(acme.asked("revoke"))

    async with process(timed.settings, clock) as parts:
        clock.advance(CLAIM_SECONDS)
        await parts.connections.revocation_queue.work_off()
        assert await waiting(parts) == []

    assert [each.status for each in acme.asked("revoke")[asked:]] == [200, 200]
    assert (acme.live("access"), acme.live("refresh")) == ([], [])


def connected_and_deleted(plugboard: Plugboard, tenant: Tenant, way: str) -> None:
    owner = WorkspaceOwner.at(plugboard)
    config: Mapping[str, str] = {} if way == "registered" else {"clientId": "acme-client"}
    if way == "private_key_jwt":
        private, public = key_pair()
        tenant.add_client("acme-client", public_key=public)
        config = {**config, "privateKey": private}
    elif way != "registered":
        has_secret = way != "none"
        tenant.behave(auth_methods=(way,))
        tenant.add_client("acme-client", secret="canary-acme" if has_secret else None, auth=way)
        config = {**config, "clientSecret": "canary-acme"} if has_secret else config
    owner.delete(owner.connected(owner.remote(tenant, config=config)))
    wait_until(lambda: tenant.asked("revoke") and all_were_tried(plugboard))


def key_pair() -> tuple[str, str]:
    key = generate_private_key(SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()
