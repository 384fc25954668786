"""Each service from the first consent to the last: connect, call, expire, refresh, be thrown out, return, leave."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from demo.oauth_provider.server import Fault, Server, Tenant
from tests.connections.desk import Desk, entries, until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard

SERVICES = ["notion", "linear", "hubspot", "slack", "slack with rotation"]
RENEWED = ["notion", "linear", "hubspot", "slack with rotation"]
LIVES = {"linear": 86399, "hubspot": 1800, "slack with rotation": 43200}
WITH_ROTATION: dict[str, Any] = {"gives_refresh": True, "access_life": 43200, "expires_in": 43200}


@pytest.fixture
def desk(timed: Plugboard) -> Desk:
    return Desk.at(timed)


def tenant_of(provider: Server, service: str) -> Tenant:
    tenant = provider.tenant(service.partition(" ")[0])
    if service == "slack with rotation":
        tenant.behave(**WITH_ROTATION)
    return tenant


def connected(desk: Desk, tenant: Tenant) -> str:
    server = desk.connected(desk.service(tenant.name))
    assert answers(desk, server)
    return server


def answers(desk: Desk, server: str) -> bool:
    told = desk.check(server)
    return (told["status"], told["detail"]) == ("ok", "It answers.")


def is_ended(desk: Desk, server: str) -> bool:
    told = desk.status(server)
    assert told["connected"] is not told["reconnectRequired"]
    assert desk.shown(server)["oauthConnected"] is told["connected"]
    return bool(told["reconnectRequired"])


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_lives_through_all_that_can_become_of_a_connection(
    desk: Desk, provider: Server, service: str
) -> None:
    tenant = tenant_of(provider, service)
    server = desk.service(tenant.name)
    assert desk.check(server)["status"] == "unauthorized"

    assert desk.connect(server) == {"connected": server}
    assert answers(desk, server)

    if tenant.behaviour.gives_refresh:
        for generation in (1, 2):
            tenant.expire()
            assert answers(desk, server)
            assert tenant.counts["refreshes"] == generation
        assert tenant.families[0].presented == [1, 1, 0]
        assert (tenant.counts["reuses"], len(tenant.families)) == (0, 1)

    tenant.forget_grants()
    assert desk.check(server)["status"] == "unauthorized"
    assert is_ended(desk, server)
    assert desk.audited("server.reconnect_required") == [("server.reconnect_required", "system")]

    desk.connected(server)
    assert answers(desk, server)
    assert not is_ended(desk, server)
    assert len(tenant.families) == 2

    desk.disconnect(server)
    assert desk.check(server)["status"] == "unauthorized"
    until(lambda: entries(desk.workspace.plugboard) == [])
    assert tenant.live("refresh") == []
    done = {"server.connected": 2, "server.disconnected": 1}
    assert Counter(desk.audited(*done)) == {(action, "api_key"): times for action, times in done.items()}


@pytest.mark.parametrize("service", LIVES)
def test_what_is_about_to_expire_is_renewed_before_anybody_is_refused(
    desk: Desk, provider: Server, clock: StillClock, service: str
) -> None:
    tenant = tenant_of(provider, service)
    server = connected(desk, tenant)

    clock.advance(LIVES[service] - 61)
    assert answers(desk, server)
    assert tenant.counts["refreshes"] == 0

    clock.advance(1)
    tenant.expire()
    assert answers(desk, server)
    assert tenant.counts["refreshes"] == 1
    assert 401 not in {each.status for each in tenant.asked("api")}


@pytest.mark.parametrize("service", ["notion", "slack"])
def test_where_nobody_says_that_it_ends_a_token_is_used_until_it_is_refused(
    desk: Desk, provider: Server, clock: StillClock, service: str
) -> None:
    tenant = tenant_of(provider, service)
    server = connected(desk, tenant)

    clock.advance(365 * 86_400)

    assert answers(desk, server)
    assert tenant.requests["token"] == 1


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("service", RENEWED)
@pytest.mark.parametrize("kind", ["down", "busy", "html", "close"])
def test_a_provider_in_trouble_takes_no_connection_away(
    desk: Desk, provider: Server, clock: StillClock, service: str, kind: Any
) -> None:
    """Each has its own words for being busy, and Linear's come as a refusal."""
    tenant = tenant_of(provider, service)
    server = connected(desk, tenant)
    tenant.expire()
    tenant.fault("token", Fault(kind))

    assert desk.check(server)["status"] == "unreachable"
    assert not is_ended(desk, server)

    clock.advance(10)
    assert answers(desk, server)


@pytest.mark.parametrize(
    ("service", "other"),
    [(service, other) for service in RENEWED for other in (False, True) if (service, other) != ("linear", True)],
)
def test_a_grant_that_was_taken_back_has_ended_however_the_vendor_says_it(
    desk: Desk, provider: Server, service: str, other: bool
) -> None:
    tenant = tenant_of(provider, service)
    tenant.behave(other_errors=other)
    server = connected(desk, tenant)

    tenant.forget_grants()
    desk.check(server)

    assert is_ended(desk, server)
    asked = tenant.requests["token"]
    assert desk.check(server)["status"] == "unauthorized"
    assert tenant.requests["token"] == asked


@pytest.mark.requirement("OAU-14")
def test_a_refusal_that_may_mean_anything_ends_nothing_and_somebody_may_connect_again(
    desk: Desk, provider: Server
) -> None:
    """Linear is known to say nothing but `Error`, to a wrong secret as well."""
    linear = provider.tenant("linear")
    linear.behave(other_errors=True)
    server = connected(desk, linear)

    linear.forget_grants()

    assert desk.check(server)["status"] == "unreachable"
    assert not is_ended(desk, server)
    assert answers(desk, desk.connected(server))


@pytest.mark.parametrize("service", SERVICES)
def test_who_does_not_consent_connects_nothing(desk: Desk, provider: Server, service: str) -> None:
    tenant = tenant_of(provider, service)
    tenant.behave(consent="deny")
    server = desk.service(tenant.name)

    assert desk.connect(server) == {"error": "denied"}

    assert desk.status(server)["connected"] is False
    assert tenant.requests["token"] == 0
    assert desk.audited("server.connected") == []


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("other", [False, True])
def test_a_code_that_is_refused_connects_nothing_however_the_vendor_says_it(
    desk: Desk, provider: Server, service: str, other: bool
) -> None:
    tenant = tenant_of(provider, service)
    tenant.behave(code_life=-1.0, other_errors=other)
    server = desk.service(tenant.name)

    assert desk.connect(server) == {"error": "refused"}

    assert desk.status(server)["connected"] is False
    assert tenant.requests["token"] == 1


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("kind", ["down", "busy", "html", "close"])
def test_a_provider_in_trouble_connects_nothing_and_a_second_try_does(
    desk: Desk, provider: Server, service: str, kind: Any
) -> None:
    tenant = tenant_of(provider, service)
    tenant.fault("token", Fault(kind))
    server = desk.service(tenant.name)

    assert desk.connect(server) == {"error": "unavailable"}
    assert desk.status(server)["connected"] is False

    assert answers(desk, desk.connected(server))


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("service", RENEWED)
def test_a_secret_that_is_wrong_takes_no_connection_away(
    desk: Desk, provider: Server, clock: StillClock, service: str
) -> None:
    """It is the operator's to put right; until then nobody connects, and whoever is connected stays so."""
    tenant = tenant_of(provider, service)
    server, app = connected(desk, tenant), tenant.client
    tenant.add_client(app.id, secret="another-one", auth="client_secret_basic")
    tenant.expire()

    assert desk.check(server)["status"] == "unreachable"
    assert not is_ended(desk, server)
    assert desk.connect(desk.service(tenant.name)) == {"error": "refused"}

    tenant.client = app
    clock.advance(10)
    assert answers(desk, server)


@pytest.mark.parametrize("service", ["linear", "hubspot"])
def test_a_service_that_cannot_say_whose_it_is_is_connected_all_the_same(
    desk: Desk, provider: Server, service: str
) -> None:
    tenant = provider.tenant(service)
    tenant.fault("api", Fault("down"))

    server = desk.connected(desk.service(service))

    assert desk.status(server)["connected"] is True
    assert answers(desk, server)


def test_an_answer_with_odd_things_in_it_is_taken_for_what_is_right_in_it(desk: Desk, provider: Server) -> None:
    provider.tenant("hubspot").behave(
        answer_changes={"expires_in": "1800", "hub_id": None, "scopes": "oauth crm.objects.deals.read", "id_token": "x"}
    )

    told = desk.status(desk.connected(desk.service("hubspot")))

    assert told["expiresAt"] is not None
    assert told["scopes"] == ["oauth", "crm.objects.deals.read"]


@pytest.mark.parametrize(
    ("service", "changes"),
    [
        ("slack", {"ok": False, "error": "invalid_code"}),
        ("slack", {"ok": False}),
        ("notion", {"access_token": None}),
        ("linear", {"access_token": ""}),
        ("linear", {"access_token": "with\nline"}),
        ("hubspot", {"token_type": "mac"}),
        ("hubspot", {"access_token": 7}),
    ],
)
def test_an_answer_without_a_usable_token_connects_nothing(
    desk: Desk, provider: Server, service: str, changes: dict[str, Any]
) -> None:
    provider.tenant(service).behave(answer_changes=changes)
    server = desk.service(service)

    assert desk.connect(server)["error"] in ("refused", "unavailable")

    assert desk.status(server)["connected"] is False


def test_one_account_can_be_left_for_another(desk: Desk, provider: Server) -> None:
    notion = provider.tenant("notion")
    server = connected(desk, notion)
    notion.behave(person="Grace", workspace="Navy")

    desk.connected(server)

    account = desk.status(server)["account"]
    assert (account["name"], account["workspace"]) == ("Grace", "Navy")


def test_an_answer_to_a_refresh_without_another_refresh_token_leaves_the_old_one(desk: Desk, provider: Server) -> None:
    hubspot = provider.tenant("hubspot")
    hubspot.behave(repeats_refresh=False)
    server = connected(desk, hubspot)

    for _ in range(3):
        hubspot.expire()
        assert answers(desk, server)

    assert hubspot.counts["refreshes"] == 3
