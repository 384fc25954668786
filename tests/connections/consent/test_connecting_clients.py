"""As whom a server is connected: a client that came with it, one that is published, or one that is registered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from joserfc.jwk import ECKey

from api.main.settings import Settings
from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.browser_flow import PUBLIC, ConnectableServer, ConsentBrowser, mcp_server, query_of, result_of
from tests.harness import Plugboard, error_paths, served

SECRET = "canary-secret-of-a-client"
HTTPS = "https://plugboard.test"
CALLBACK = "/api/mcp/oauth/external/callback"


@pytest.fixture(scope="module")
def public(one_provider: OAuthProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:
    """One that authorization servers can read a document from."""
    environment = one_provider.environment() | {
        "PLUGBOARD_DATA_DIR": str(tmp_path_factory.mktemp("public")),
        "OAUTH_REDIRECT_BASE_URL": HTTPS,
    }
    with served(Settings.from_environment(environment)) as plugboard:
        yield plugboard


@pytest.fixture
def acme(provider: OAuthProvider) -> Tenant:
    return provider.tenant("acme")


def connected(server: ConnectableServer) -> ConnectableServer:
    assert ConsentBrowser(server.plugboard, server.plugboard.settings.public_url).connect(server) == {
        "connected": server.id
    }
    return server


# --- registered


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_an_unknown_client_is_registered(plugboard: Plugboard, acme: Tenant, method: str) -> None:
    acme.configure(auth_methods=(method,), takes_documents=False)

    server = connected(mcp_server(plugboard, acme))

    (requested,) = acme.requests_to("register")
    assert requested.fields == {
        "client_name": "Plugboard",
        "redirect_uris": [f"{PUBLIC}{CALLBACK}"],
        "application_type": "native",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "scope": "read admin",
    }
    acme.expire_tokens()
    assert server.call()["isError"] is False


def test_a_registration_serves_all_servers_of_the_issuer(
    plugboard: Plugboard, provider: OAuthProvider, acme: Tenant
) -> None:
    beta = provider.tenant("beta")
    beta.configure(authorization_servers=(acme.issuer,))
    one = connected(mcp_server(plugboard, acme))

    connected(mcp_server(plugboard, beta, one.workspace))
    connected(one)

    assert acme.counts["registrations"] == 1
    assert len({family.client for family in acme.families}) == 1


def test_a_registration_belongs_to_one_workspace_and_one_issuer(
    plugboard: Plugboard, provider: OAuthProvider, acme: Tenant
) -> None:
    one = connected(mcp_server(plugboard, acme))

    connected(mcp_server(plugboard, acme))
    connected(mcp_server(plugboard, provider.tenant("beta"), one.workspace))

    assert (acme.counts["registrations"], provider.tenant("beta").counts["registrations"]) == (2, 1)


def test_more_scopes_than_registered_need_a_new_registration_and_the_old_one_remains(
    plugboard: Plugboard, provider: OAuthProvider, acme: Tenant
) -> None:
    beta = provider.tenant("beta")
    acme.configure(challenge_scopes=("read",))
    beta.configure(authorization_servers=(acme.issuer,), challenge_scopes=("read", "admin"))
    one = connected(mcp_server(plugboard, acme))

    two = connected(mcp_server(plugboard, beta, one.workspace))
    acme.expire_tokens()

    assert acme.counts["registrations"] == 2
    assert [item.call()["isError"] for item in (one, two)] == [False, False]
    connected(one)
    assert acme.counts["registrations"] == 2


@pytest.mark.requirement("OAU-04")
def test_an_issuer_that_begins_to_send_iss_gets_another_redirect_uri_and_the_old_grant_remains(
    plugboard: Plugboard, acme: Tenant
) -> None:
    acme.configure(promises_iss=False)
    server = connected(mcp_server(plugboard, acme))
    acme.configure(promises_iss=True)

    server.page()
    acme.expire_tokens()

    assert [len(request.fields["redirect_uris"]) for request in acme.requests_to("register")] == [1, 1]
    assert server.call()["isError"] is False


def test_a_client_with_an_expired_secret_is_registered_again(plugboard: Plugboard, acme: Tenant) -> None:
    acme.configure(auth_methods=("client_secret_basic",), secret_life=30)  # less than we would begin anything with
    server = connected(mcp_server(plugboard, acme))

    connected(server)

    assert acme.counts["registrations"] == 2


def test_a_grant_of_an_expired_client_requires_connecting_again(plugboard: Plugboard, acme: Tenant) -> None:
    acme.configure(auth_methods=("client_secret_basic",))
    server = connected(mcp_server(plugboard, acme))
    acme.clients.clear()
    acme.expire_tokens()

    assert server.call()["error"]["kind"] == "reconnect_required"
    assert server.status()["reconnectRequired"] is True


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"registers": False}, "does not support dynamic client registration"),
        ({"auth_methods": ("private_key_jwt",)}, "does not support dynamic client registration"),
    ],
)
def test_without_registration_the_error_says_what_to_do(
    plugboard: Plugboard, acme: Tenant, changes: dict[str, object], says: str
) -> None:
    acme.configure(**changes)

    response = mcp_server(plugboard, acme).start()

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")
    assert says in response.json()["detail"]


@pytest.mark.parametrize("kind", ["down", "busy", "html", "close", "array"])
def test_a_failed_registration_passes_on_no_text_of_the_provider(plugboard: Plugboard, acme: Tenant, kind: str) -> None:
    acme.inject_fault("register", Fault(kind, body="echoed"))  # type: ignore[arg-type]

    response = mcp_server(plugboard, acme).start()

    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert "echoed" not in response.text
    assert acme.request_counts["register"] == 1


# --- published


def test_with_a_metadata_document_no_client_is_registered(public: Plugboard, acme: Tenant) -> None:
    acme.configure(documents_from=public.url)

    server = connected(mcp_server(public, acme))

    assert acme.counts["registrations"] == 0
    assert [family.client for family in acme.families] == [f"{HTTPS}/client-metadata.json"]
    acme.expire_tokens()
    assert server.call()["isError"] is False
    assert "secret" not in str([request.body for request in acme.requests_to("token")])


@pytest.mark.requirement("OAU-04")
def test_an_issuer_without_iss_gets_its_own_metadata_document(public: Plugboard, acme: Tenant) -> None:
    acme.configure(documents_from=public.url, promises_iss=False)
    server, visitor = mcp_server(public, acme), ConsentBrowser(public, HTTPS)

    onward = query_of(visitor.go(server.page()))

    own = onward["redirect_uri"].rpartition("/")[2]
    assert onward["redirect_uri"] == f"{HTTPS}{CALLBACK}/{own}"
    assert onward["client_id"] == f"{HTTPS}/client-metadata/{own}.json"
    connected(server)


@pytest.mark.parametrize(("path", "suffix"), [("/client-metadata.json", ""), ("/client-metadata/{}.json", "/{}")])
def test_the_metadata_document_describes_the_client(public: Plugboard, path: str, suffix: str) -> None:
    own = "0123456789abcdef" * 2

    response = public.caller().get(path.format(own))

    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.json() == {
        "client_id": HTTPS + path.format(own),
        "client_name": "Plugboard",
        "client_uri": HTTPS,
        "redirect_uris": [HTTPS + CALLBACK + suffix.format(own)],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "web",
    }
    assert len(response.content) < 5000


@pytest.mark.parametrize(
    "name", ["x.json", "0123456789ABCDEF.json", "0123456789abcdef", "0123456789abcdef0.json", ".json"]
)
def test_an_unknown_metadata_document_is_not_found(public: Plugboard, name: str) -> None:
    assert public.caller().get(f"/client-metadata/{name}").status_code == 404


@pytest.mark.requirement("OAU-07")
def test_the_metadata_document_ignores_the_host_header(public: Plugboard) -> None:
    text = public.caller(Host="evil.example", **{"X-Forwarded-Host": "evil.example"}).get("/client-metadata.json")

    assert "evil" not in text.text


# --- given


@pytest.mark.parametrize("auth", ["client_secret_basic", "client_secret_post"])
def test_a_configured_client_is_used(plugboard: Plugboard, acme: Tenant, auth: str) -> None:
    acme.configure(registers=False, auth_methods=(auth,))
    acme.add_client("our own/id:1", secret=SECRET, auth=auth, redirect_uris=(f"{PUBLIC}{CALLBACK}",))
    server = mcp_server(plugboard, acme, config={"clientId": "our own/id:1", "clientSecret": SECRET})
    assert server.status()["redirectUri"] == f"{PUBLIC}{CALLBACK}"

    connected(server)

    acme.expire_tokens()
    assert server.call()["isError"] is False
    assert {family.client for family in acme.families} == {"our own/id:1"}


def test_a_configured_public_client_is_used(plugboard: Plugboard, acme: Tenant) -> None:
    acme.add_client("ours")

    connected(mcp_server(plugboard, acme, config={"clientId": "ours"}))

    assert (acme.counts["exchanges"], acme.counts["registrations"]) == (1, 0)


def test_a_client_with_a_private_key_signs_an_assertion(plugboard: Plugboard, acme: Tenant) -> None:
    key = ECKey.generate_key("P-256")
    acme.add_client("ours", public_key=key.as_pem(private=False).decode())
    server = mcp_server(plugboard, acme, config={"clientId": "ours", "privateKey": key.as_pem(private=True).decode()})

    connected(server)

    acme.expire_tokens()
    assert server.call()["isError"] is False
    assert all("client_secret" not in request.fields for request in acme.requests_to("token"))


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({"config": {"clientSecret": SECRET}}, ["config.clientId"]),
        ({"config": {"privateKey": "a key"}}, ["config.clientId", "config.privateKey"]),
        ({"config": {"clientId": "ours", "clientSecret": SECRET, "privateKey": "a key"}}, ["config.privateKey"] * 2),
        ({"oauthGrant": "client_credentials"}, ["config.clientId"]),
        ({"oauthGrant": "client_credentials", "config": {"clientId": "ours"}}, ["config.clientId"]),
        ({"oauthGrant": "client_credentials", "authType": "none"}, ["oauthGrant"]),
        ({"oauthGrant": "client_credentials", "serviceType": "notion", "url": None}, ["oauthGrant"]),
    ],
    ids=str,
)
def test_an_incomplete_client_is_refused(
    plugboard: Plugboard, acme: Tenant, fields: dict[str, object], paths: list[str]
) -> None:
    draft = {"name": "Acme", "url": acme.mcp_url, "authType": "oauth", "config": {}} | fields
    workspace = plugboard.make_workspace()

    assert error_paths(workspace.admin.post(workspace.servers, json=draft)) == paths


@pytest.mark.parametrize("config", [{"clientId": "unknown"}, {"clientId": "ours", "clientSecret": "wrong"}], ids=str)
def test_a_client_that_the_provider_refuses_connects_nothing(
    plugboard: Plugboard, acme: Tenant, config: dict[str, str]
) -> None:
    acme.add_client("ours", secret=SECRET)
    acme.add_client("unknown")
    server, visitor = mcp_server(plugboard, acme, config=config), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())
    acme.clients.pop("unknown")

    assert result_of(visitor.land(callback)) == {"error": "refused"}
    server.assert_not_connected()


def test_a_client_replaced_during_the_consent_connects_nothing(plugboard: Plugboard, acme: Tenant) -> None:
    acme.add_client("ours", secret=SECRET)
    server = mcp_server(plugboard, acme, config={"clientId": "ours", "clientSecret": SECRET})
    visitor = ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())

    server.change(config={"clientId": "another", "clientSecret": SECRET})

    assert result_of(visitor.land(callback)) == {"error": "server_changed"}
    server.assert_untouched()


def test_a_server_with_client_credentials_cannot_be_connected_by_consent(plugboard: Plugboard, acme: Tenant) -> None:
    acme.add_client("ours", secret=SECRET, grants=("client_credentials",))
    config = {"clientId": "ours", "clientSecret": SECRET}

    response = mcp_server(plugboard, acme, oauthGrant="client_credentials", config=config).start()

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")
    assert acme.recorded_requests == []
