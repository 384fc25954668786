"""The whole flow of connecting a server: the requests to the provider, and the resulting connection."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from api.main.settings import Settings
from demo.mcp_servers import ModernServer
from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.conformance.browser import Browser
from tests.connections.browser_flow import (
    PUBLIC,
    ConnectableServer,
    ConsentBrowser,
    callback_from,
    mcp_server,
    query_of,
    result_of,
    service,
)
from tests.harness import Plugboard, listening, served

SERVICES = ["notion", "linear", "hubspot", "slack"]


@pytest.fixture
def acme(provider: OAuthProvider) -> Tenant:
    return provider.tenant("acme")


@pytest.fixture
def server(plugboard: Plugboard, acme: Tenant) -> ConnectableServer:
    return mcp_server(plugboard, acme)


def token_request_of(tenant: Tenant) -> dict[str, str]:
    """The one authorization request."""
    (requested,) = tenant.requests_to("authorize")
    return dict(requested.query)


def exchange_of(tenant: Tenant) -> dict[str, Any]:
    (exchange,) = tenant.requests_to("token")
    return exchange.fields


def test_a_browser_that_follows_the_link_connects_a_server(server: ConnectableServer) -> None:
    outcome = Browser(PUBLIC, server.plugboard.url).connect(server.start().json()["authUrl"])

    assert outcome == {"connected": server.id}
    assert server.get()["oauthConnected"] is True
    assert json.loads(server.call()["text"])["person"] == "Ada"
    assert server.events()[:2] == ["server.created", "server.connected"]


@pytest.mark.parametrize("kind", SERVICES)
def test_each_service_is_connected(plugboard: Plugboard, provider: OAuthProvider, kind: str) -> None:
    server = service(plugboard, provider, kind)

    outcome = Browser(PUBLIC, plugboard.url).connect(server.start().json()["authUrl"])

    assert outcome == {"connected": server.id}
    assert server.status()["connected"] is True
    assert token_request_of(server.tenant)["redirect_uri"] == f"{PUBLIC}/api/mcp/oauth/{kind}/callback"


def test_the_audit_names_the_key_that_connected_the_server(server: ConnectableServer) -> None:
    ConsentBrowser(server.plugboard).connect(server)

    (newest, *_) = server.workspace.admin.get(server.workspace.audit).json()
    assert (newest["action"], newest["actor"]["type"], newest["target"]["id"]) == (
        "server.connected",
        "api_key",
        server.id,
    )


def test_connecting_again_uses_the_new_grant(server: ConnectableServer) -> None:
    visitor = ConsentBrowser(server.plugboard)
    visitor.connect(server)
    server.tenant.configure(person="Grace")

    assert visitor.connect(server) == {"connected": server.id}
    assert json.loads(server.call()["text"])["person"] == "Grace"


def test_the_old_grant_works_until_the_browser_returns(server: ConnectableServer) -> None:
    visitor = ConsentBrowser(server.plugboard)
    visitor.connect(server)

    visitor.land(visitor.consent(server.page()).with_params(code=None, error="access_denied"))

    assert server.status()["connected"] is True
    assert server.call()["isError"] is False


# --- what is asked


@pytest.mark.requirement("OAU-03")
@pytest.mark.parametrize("kind", ["acme", "linear"])
def test_a_code_is_exchanged_with_its_pkce_verifier(plugboard: Plugboard, provider: OAuthProvider, kind: str) -> None:
    is_mcp = kind == "acme"
    server = mcp_server(plugboard, provider.tenant(kind)) if is_mcp else service(plugboard, provider, kind)

    ConsentBrowser(plugboard).connect(server)

    requested, verifier = token_request_of(server.tenant), exchange_of(server.tenant)["code_verifier"]
    hashed = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    assert (requested["code_challenge_method"], requested["code_challenge"]) == ("S256", hashed)
    assert len(verifier) == 64


@pytest.mark.requirement("OAU-03")
def test_every_flow_has_its_own_verifier(server: ConnectableServer) -> None:
    visitor = ConsentBrowser(server.plugboard)

    challenges = {query_of(visitor.go(server.page()))["code_challenge"] for _ in range(10)}

    assert len(challenges) == 10


@pytest.mark.requirement("OAU-03")
@pytest.mark.parametrize("kind", ["notion", "hubspot", "slack"])
def test_without_pkce_support_no_challenge_is_sent(plugboard: Plugboard, provider: OAuthProvider, kind: str) -> None:
    server = service(plugboard, provider, kind)

    ConsentBrowser(plugboard).connect(server)

    assert "code_challenge" not in token_request_of(server.tenant)
    assert "code_verifier" not in exchange_of(server.tenant)


@pytest.mark.requirement("OAU-03")
def test_a_stolen_code_is_useless_in_another_flow(server: ConnectableServer) -> None:
    visitor = ConsentBrowser(server.plugboard)
    stolen, callback = visitor.consent(server.page()), visitor.consent(server.page())

    assert result_of(visitor.land(callback.with_params(code=stolen["code"]))) == {"error": "refused"}
    server.assert_not_connected()


@pytest.mark.requirement("OAU-10")
def test_both_requests_name_the_resource(server: ConnectableServer) -> None:
    ConsentBrowser(server.plugboard).connect(server)

    assert token_request_of(server.tenant)["resource"] == server.tenant.mcp_url
    assert exchange_of(server.tenant)["resource"] == server.tenant.mcp_url
    assert [family.resource for family in server.tenant.families] == [server.tenant.mcp_url]


@pytest.mark.requirement("OAU-10")
@pytest.mark.parametrize("resource", ["https://evil.example/mcp", "{}/mcp/other", "{}/mcp/acme/more", "{}/mcp/acm", ""])
def test_metadata_of_another_resource_connects_nothing(plugboard: Plugboard, acme: Tenant, resource: str) -> None:
    acme.configure(prm_changes={"resource": resource.format(acme.origin)})

    response = mcp_server(plugboard, acme).start()

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")
    assert (acme.requests_to("register"), acme.requests_to("authorize")) == ([], [])


@pytest.mark.requirement("OAU-11")
@pytest.mark.parametrize("kind", ["acme", *SERVICES])
def test_no_header_of_the_caller_reaches_the_provider(plugboard: Plugboard, provider: OAuthProvider, kind: str) -> None:
    is_mcp = kind == "acme"
    server = mcp_server(plugboard, provider.tenant(kind)) if is_mcp else service(plugboard, provider, kind)
    visitor = ConsentBrowser(plugboard, cookies={"session": "canary-cookie"})

    visitor.connect(server)
    if is_mcp:
        server.call()

    sent = str([(request.query, request.headers, request.body) for request in provider.recorded_requests])
    for canary in (
        server.workspace.key,
        server.workspace.key.partition("_")[2],
        "canary-cookie",
        *visitor.cookies.values(),
    ):
        assert canary not in sent
    assert not [request for request in provider.recorded_requests if "cookie" in request.headers]
    assert "referer" not in {name for request in provider.recorded_requests for name in request.headers}


@pytest.mark.requirement("OAU-11")
def test_a_token_of_an_upstream_is_not_an_api_key(server: ConnectableServer) -> None:
    ConsentBrowser(server.plugboard).connect(server)

    for token in (*server.tenant.live_tokens("access"), *server.tenant.live_tokens("refresh")):
        assert server.plugboard.caller(token).get(server.path).status_code == 401


# --- scopes


@pytest.mark.requirement("OAU-17")
@pytest.mark.parametrize(
    ("kind", "requested"),
    [
        ("notion", None),
        ("linear", "read"),
        (
            "hubspot",
            "crm.objects.contacts.read crm.objects.companies.read crm.objects.deals.read crm.objects.owners.read oauth",
        ),
        ("slack", "channels:read,channels:history,groups:read,groups:history,chat:write"),
    ],
)
def test_only_scopes_that_tools_need_are_requested(
    plugboard: Plugboard, provider: OAuthProvider, kind: str, requested: str | None
) -> None:
    server = service(plugboard, provider, kind)

    ConsentBrowser(plugboard).connect(server)

    assert token_request_of(server.tenant).get("scope") == requested
    status, scopes = server.status(), (requested or "").replace(",", " ").split()
    assert (status["askedScopes"], status["missingScopes"], status["unaskedScopes"]) == (scopes, [], [])


@pytest.mark.requirement("OAU-17")
def test_granted_and_requested_scopes_are_both_stored(server: ConnectableServer) -> None:
    server.tenant.configure(grants=("read", "write", "everything"))

    ConsentBrowser(server.plugboard).connect(server)

    status = server.status()
    assert status["askedScopes"] == ["read", "admin"]
    assert status["scopes"] == ["read", "write", "everything"]
    assert status["missingScopes"] == ["admin"]
    assert status["unaskedScopes"] == ["everything", "write"]


@pytest.mark.requirement("OAU-17")
def test_only_the_scopes_of_the_challenge_are_requested(server: ConnectableServer) -> None:
    server.tenant.configure(challenge_scopes=("read",))

    ConsentBrowser(server.plugboard).connect(server)

    assert token_request_of(server.tenant)["scope"] == "read"


@pytest.mark.requirement("OAU-17")
def test_configured_scopes_are_requested(plugboard: Plugboard, acme: Tenant) -> None:
    server = mcp_server(plugboard, acme, config={"scope": "admin"})

    ConsentBrowser(plugboard).connect(server)

    assert token_request_of(acme)["scope"] == "admin"


@pytest.mark.requirement("OAU-18")
def test_no_id_token_is_requested_or_read(server: ConnectableServer) -> None:
    server.tenant.configure(answer_changes={"id_token": "canary.id.token"})

    assert ConsentBrowser(server.plugboard).connect(server) == {"connected": server.id}
    assert "nonce" not in token_request_of(server.tenant)
    assert "canary" not in json.dumps(server.status())


# --- where it cannot begin


def test_connecting_an_unconfigured_service_names_the_variables(provider: OAuthProvider, tmp_path: Any) -> None:
    environment = provider.environment("linear") | {"PLUGBOARD_DATA_DIR": str(tmp_path)}
    with served(Settings.from_environment(environment)) as plugboard:
        response = service(plugboard, provider, "notion").start()

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")
    assert response.json()["detail"] == (
        "Notion is not set up here. The operator has to set NOTION_OAUTH_CLIENT_ID and NOTION_OAUTH_CLIENT_SECRET."
    )


@pytest.mark.parametrize("fields", [{"authType": "none"}, {"authType": "header", "config": {"headerValue": "x"}}])
def test_a_server_without_oauth_cannot_be_connected(plugboard: Plugboard, acme: Tenant, fields: dict[str, Any]) -> None:
    server = mcp_server(plugboard, acme, **fields)

    response = server.start()

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")
    assert "does not use OAuth" in response.json()["detail"]
    assert acme.recorded_requests == []


def test_a_missing_server_cannot_be_connected(server: ConnectableServer) -> None:
    path = server.path[:-4] + "zzzz"

    assert server.workspace.admin.get(f"{path}/oauth/authorize").status_code == 404
    assert server.workspace.admin.get(f"{path}/oauth/status").status_code == 404


UNUSABLE_METADATA: list[tuple[dict[str, Any], str]] = [
    ({"prm_changes": {"authorization_servers": []}}, "names no usable authorization server"),
    ({"prm_changes": {"authorization_servers": ["javascript:echoed"]}}, "names no usable authorization server"),
    ({"metadata_at": ()}, "its metadata cannot be found or read"),
    ({"metadata_changes": {"issuer": "https://echoed.example"}}, "names a different issuer"),
    ({"metadata_changes": {"code_challenge_methods_supported": None}}, "does not support PKCE"),
    ({"metadata_changes": {"code_challenge_methods_supported": ["plain"]}}, "does not support PKCE"),
    ({"metadata_changes": {"authorization_endpoint": None}}, "metadata is missing or has no https URL"),
    ({"metadata_changes": {"authorization_endpoint": "javascript:echoed"}}, "metadata is missing or has no https URL"),
    ({"metadata_changes": {"authorization_endpoint": "https://a@echoed.example/"}}, "is missing or has no https URL"),
    ({"metadata_changes": {"token_endpoint": "file:///echoed"}}, "metadata is missing or has no https URL"),
]


@pytest.mark.requirement("OAU-03", "OAU-08")
@pytest.mark.parametrize(("changes", "says"), UNUSABLE_METADATA, ids=str)
def test_unusable_metadata_is_reported(server: ConnectableServer, changes: dict[str, Any], says: str) -> None:
    server.tenant.configure(**changes)

    response = server.start()

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")
    assert says in response.json()["detail"]
    assert "echoed" not in response.text
    assert server.tenant.requests_to("register") == []


@pytest.mark.parametrize("endpoint", ["mcp", "prm", "metadata"])
@pytest.mark.parametrize("kind", ["down", "busy", "close"])
def test_a_connect_works_after_an_outage(server: ConnectableServer, endpoint: str, kind: Any) -> None:
    server.tenant.inject_fault(endpoint, Fault(kind, body="echoed"), times=None)

    response = server.start()

    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert "echoed" not in response.text
    server.tenant.clear_faults()
    assert ConsentBrowser(server.plugboard).connect(server) == {"connected": server.id}


def test_a_server_without_authorization_cannot_be_connected(plugboard: Plugboard, acme: Tenant) -> None:
    with listening(ModernServer()) as url:
        response = mcp_server(plugboard, acme, url=f"{url}/mcp").start()

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")
    assert "requires no authorization" in response.json()["detail"]


# --- where it does not come to an end


@pytest.mark.requirement("OAU-05")
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault("down", body="echoed"), "unavailable"),
        (Fault("busy", body="echoed"), "unavailable"),
        (Fault("html"), "unavailable"),
        (Fault("close"), "unavailable"),
        (Fault("close", after=True), "unavailable"),
        (Fault("huge"), "unavailable"),
        (Fault("array"), "unavailable"),
        (Fault("redirect", location="https://echoed.example"), "unavailable"),
    ],
    ids=str,
)
def test_a_failed_exchange_connects_and_echoes_nothing(server: ConnectableServer, fault: Fault, code: str) -> None:
    visitor = ConsentBrowser(server.plugboard)
    callback = visitor.consent(server.page())
    server.tenant.inject_fault("token", fault)

    response = visitor.land(callback)

    assert result_of(response) == {"error": code}
    assert "echoed" not in str(response.headers) + visitor.sent("GET", response.headers["Location"]).text
    assert len(server.tenant.requests_to("token")) == 1
    server.assert_not_connected()
    assert visitor.connect(server) == {"connected": server.id}


@pytest.mark.parametrize("kind", SERVICES)
def test_account_details_are_shown_and_are_optional(plugboard: Plugboard, provider: OAuthProvider, kind: str) -> None:
    server = service(plugboard, provider, kind)
    server.tenant.inject_fault("api", Fault("down"), times=None)

    assert ConsentBrowser(plugboard).connect(server) == {"connected": server.id}
    assert server.status()["connected"] is True


def test_an_abandoned_consent_has_no_effect(server: ConnectableServer) -> None:
    url = ConsentBrowser(server.plugboard).go(server.page())

    callback_from(url)

    server.assert_untouched()
