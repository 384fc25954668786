"""Each service from the first consent to the last: connect, call, expire, refresh, be thrown out, return, leave."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.workspace_owner import WorkspaceOwner, revocation_jobs, wait_until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard

SERVICES = ["notion", "linear", "hubspot", "slack", "slack with rotation"]
RENEWED = ["notion", "linear", "hubspot", "slack with rotation"]
LIVES = {"linear": 86399, "hubspot": 1800, "slack with rotation": 43200}
WITH_ROTATION: dict[str, Any] = {"gives_refresh": True, "access_life": 43200, "expires_in": 43200}


@pytest.fixture
def owner(timed: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(timed)


def tenant_of(provider: OAuthProvider, service: str) -> Tenant:
    tenant = provider.tenant(service.partition(" ")[0])
    if service == "slack with rotation":
        tenant.configure(**WITH_ROTATION)
    return tenant


def connected(owner: WorkspaceOwner, tenant: Tenant) -> str:
    server = owner.connected(owner.service(tenant.name))
    assert works(owner, server)
    return server


def works(owner: WorkspaceOwner, server: str) -> bool:
    check = owner.check(server)
    return (check["status"], check["detail"]) == ("ok", "It answers.")


def is_ended(owner: WorkspaceOwner, server: str) -> bool:
    status = owner.status(server)
    assert status["connected"] is not status["reconnectRequired"]
    assert owner.shown(server)["oauthConnected"] is status["connected"]
    return bool(status["reconnectRequired"])


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_passes_every_state_of_a_connection(
    owner: WorkspaceOwner, provider: OAuthProvider, service: str
) -> None:
    tenant = tenant_of(provider, service)
    server = owner.service(tenant.name)
    assert owner.check(server)["status"] == "unauthorized"

    assert owner.connect(server) == {"connected": server}
    assert works(owner, server)

    if tenant.behaviour.gives_refresh:
        for generation in (1, 2):
            tenant.expire_tokens()
            assert works(owner, server)
            assert tenant.counts["refreshes"] == generation
        assert tenant.families[0].presented == [1, 1, 0]
        assert (tenant.counts["reuses"], len(tenant.families)) == (0, 1)

    tenant.revoke_grants()
    assert owner.check(server)["status"] == "unauthorized"
    assert is_ended(owner, server)
    assert owner.audited("server.reconnect_required") == [("server.reconnect_required", "system")]
    (record,) = [item for item in owner.audit() if item["action"] == "server.reconnect_required"]
    assert record["cause"]
    assert record["requestId"].startswith("system-")

    owner.connected(server)
    assert works(owner, server)
    assert not is_ended(owner, server)
    assert len(tenant.families) == 2

    owner.disconnect(server)
    assert owner.check(server)["status"] == "unauthorized"
    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])
    assert tenant.live_tokens("refresh") == []
    done = {"server.connected": 2, "server.disconnected": 1}
    assert Counter(owner.audited(*done)) == {(action, "api_key"): times for action, times in done.items()}


@pytest.mark.parametrize("service", LIVES)
def test_an_expiring_token_is_refreshed_before_a_call_is_rejected(
    owner: WorkspaceOwner, provider: OAuthProvider, clock: StillClock, service: str
) -> None:
    tenant = tenant_of(provider, service)
    server = connected(owner, tenant)

    clock.advance(LIVES[service] - 61)
    assert works(owner, server)
    assert tenant.counts["refreshes"] == 0

    clock.advance(1)
    tenant.expire_tokens()
    assert works(owner, server)
    assert tenant.counts["refreshes"] == 1
    assert 401 not in {request.status for request in tenant.requests_to("api")}


@pytest.mark.parametrize("service", ["notion", "slack"])
def test_a_token_without_a_lifetime_is_used_until_it_is_rejected(
    owner: WorkspaceOwner, provider: OAuthProvider, clock: StillClock, service: str
) -> None:
    tenant = tenant_of(provider, service)
    server = connected(owner, tenant)

    clock.advance(365 * 86_400)

    assert works(owner, server)
    assert tenant.request_counts["token"] == 1


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("service", RENEWED)
@pytest.mark.parametrize("kind", ["down", "busy", "html", "close"])
def test_an_outage_of_the_provider_ends_no_connection(
    owner: WorkspaceOwner, provider: OAuthProvider, clock: StillClock, service: str, kind: Any
) -> None:
    """Each has its own words for being busy, and Linear's come as a refusal."""
    tenant = tenant_of(provider, service)
    server = connected(owner, tenant)
    tenant.expire_tokens()
    tenant.inject_fault("token", Fault(kind))

    assert owner.check(server)["status"] == "unreachable"
    assert not is_ended(owner, server)

    clock.advance(10)
    assert works(owner, server)


@pytest.mark.parametrize(
    ("service", "other"),
    [(service, other) for service in RENEWED for other in (False, True) if (service, other) != ("linear", True)],
)
def test_a_revoked_grant_is_recognised_in_every_vendors_error(
    owner: WorkspaceOwner, provider: OAuthProvider, service: str, other: bool
) -> None:
    tenant = tenant_of(provider, service)
    tenant.configure(other_errors=other)
    server = connected(owner, tenant)

    tenant.revoke_grants()
    owner.check(server)

    assert is_ended(owner, server)
    requested = tenant.request_counts["token"]
    assert owner.check(server)["status"] == "unauthorized"
    assert tenant.request_counts["token"] == requested


@pytest.mark.requirement("OAU-14")
def test_an_ambiguous_refusal_ends_no_grant(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    """Linear is known to say nothing but `Error`, to a wrong secret as well."""
    linear = provider.tenant("linear")
    linear.configure(other_errors=True)
    server = connected(owner, linear)

    linear.revoke_grants()

    assert owner.check(server)["status"] == "unreachable"
    assert not is_ended(owner, server)
    assert works(owner, owner.connected(server))


@pytest.mark.parametrize("service", SERVICES)
def test_denied_consent_connects_nothing(owner: WorkspaceOwner, provider: OAuthProvider, service: str) -> None:
    tenant = tenant_of(provider, service)
    tenant.configure(consent="deny")
    server = owner.service(tenant.name)

    assert owner.connect(server) == {"error": "denied"}

    assert owner.status(server)["connected"] is False
    assert tenant.request_counts["token"] == 0
    assert owner.audited("server.connected") == []


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("other", [False, True])
def test_a_refused_code_connects_nothing_for_every_vendors_error(
    owner: WorkspaceOwner, provider: OAuthProvider, service: str, other: bool
) -> None:
    tenant = tenant_of(provider, service)
    tenant.configure(code_life=-1.0, other_errors=other)
    server = owner.service(tenant.name)

    assert owner.connect(server) == {"error": "refused"}

    assert owner.status(server)["connected"] is False
    assert tenant.request_counts["token"] == 1


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("kind", ["down", "busy", "html", "close"])
def test_a_connect_fails_during_an_outage_and_succeeds_afterwards(
    owner: WorkspaceOwner, provider: OAuthProvider, service: str, kind: Any
) -> None:
    tenant = tenant_of(provider, service)
    tenant.inject_fault("token", Fault(kind))
    server = owner.service(tenant.name)

    assert owner.connect(server) == {"error": "unavailable"}
    assert owner.status(server)["connected"] is False

    assert works(owner, owner.connected(server))


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("service", RENEWED)
def test_a_wrong_client_secret_ends_no_connection(
    owner: WorkspaceOwner, provider: OAuthProvider, clock: StillClock, service: str
) -> None:
    """The operator must correct it. Until then no new connection works, and existing ones stay."""
    tenant = tenant_of(provider, service)
    server, app = connected(owner, tenant), tenant.client
    tenant.add_client(app.id, secret="another-one", auth="client_secret_basic")
    tenant.expire_tokens()

    assert owner.check(server)["status"] == "unreachable"
    assert not is_ended(owner, server)
    assert owner.connect(owner.service(tenant.name)) == {"error": "refused"}

    tenant.client = app
    clock.advance(10)
    assert works(owner, server)


@pytest.mark.parametrize("service", ["linear", "hubspot"])
def test_a_service_without_account_details_is_connected(
    owner: WorkspaceOwner, provider: OAuthProvider, service: str
) -> None:
    tenant = provider.tenant(service)
    tenant.inject_fault("api", Fault("down"))

    server = owner.connected(owner.service(service))

    assert owner.status(server)["connected"] is True
    assert works(owner, server)


def test_a_token_response_with_invalid_optional_fields_is_accepted(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    provider.tenant("hubspot").configure(
        answer_changes={"expires_in": "1800", "hub_id": None, "scopes": "oauth crm.objects.deals.read", "id_token": "x"}
    )

    status = owner.status(owner.connected(owner.service("hubspot")))

    assert status["expiresAt"] is not None
    assert status["scopes"] == ["oauth", "crm.objects.deals.read"]


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
def test_a_token_response_without_a_usable_token_connects_nothing(
    owner: WorkspaceOwner, provider: OAuthProvider, service: str, changes: dict[str, Any]
) -> None:
    provider.tenant(service).configure(answer_changes=changes)
    server = owner.service(service)

    assert owner.connect(server)["error"] in ("refused", "unavailable")

    assert owner.status(server)["connected"] is False


def test_a_connection_can_be_replaced_by_one_of_another_account(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    notion = provider.tenant("notion")
    server = connected(owner, notion)
    notion.configure(person="Grace", workspace="Navy")

    owner.connected(server)

    account = owner.status(server)["account"]
    assert (account["name"], account["workspace"]) == ("Grace", "Navy")


def test_a_refresh_without_a_new_refresh_token_keeps_the_old_one(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    hubspot = provider.tenant("hubspot")
    hubspot.configure(repeats_refresh=False)
    server = connected(owner, hubspot)

    for _ in range(3):
        hubspot.expire_tokens()
        assert works(owner, server)

    assert hubspot.counts["refreshes"] == 3
