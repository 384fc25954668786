"""Two authorization servers, one of which would like to have what belongs to the other: it gets nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider, Tenant
from tests.connections.browser_flow import (
    ConnectableServer,
    ConsentBrowser,
    callback_from,
    facts_on,
    mcp_server,
    query_of,
    result_of,
)
from tests.harness import Plugboard, caller, served

HTTPS = "https://plugboard.test"
SECRET = "canary-secret-of-a-client"


@dataclass(frozen=True)
class TwoIssuers:
    """An honest one and an evil one, each with a server of the same workspace."""

    honest: ConnectableServer
    evil: ConnectableServer

    @classmethod
    def at(cls, plugboard: Plugboard, provider: OAuthProvider) -> TwoIssuers:
        honest, evil = provider.tenant("honest"), provider.tenant("evil")
        one = mcp_server(plugboard, honest, name="Honest")
        return cls(one, mcp_server(plugboard, evil, one.workspace, name="Evil"))

    def announce_iss(self, *, names_itself: bool) -> None:
        for item in (self.honest, self.evil):
            item.tenant.configure(promises_iss=names_itself)

    def assert_nothing_reached_evil(self) -> None:
        assert self.evil.tenant.requests_to("token") == []
        self.evil.assert_not_connected()


@pytest.fixture
def two(plugboard: Plugboard, provider: OAuthProvider) -> TwoIssuers:
    return TwoIssuers.at(plugboard, provider)


@pytest.fixture(scope="module")
def public(one_provider: OAuthProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:
    """One that authorization servers can read a document from."""
    environment = one_provider.environment() | {
        "PLUGBOARD_DATA_DIR": str(tmp_path_factory.mktemp("public")),
        "OAUTH_REDIRECT_BASE_URL": HTTPS,
    }
    with served(Settings.from_environment(environment)) as plugboard:
        yield plugboard


def impersonate(evil: Tenant, honest: Tenant) -> None:
    """Its metadata names the honest one's page, where the user has consented a hundred times."""
    evil.configure(metadata_changes={"authorization_endpoint": f"{honest.issuer}/authorize"})


def register_client_of(honest: Tenant, url: str) -> None:
    """Registers at the honest issuer the client and the redirect URI that the evil issuer uses."""
    requested = query_of(url)
    honest.add_client(requested["client_id"], redirect_uris=(requested["redirect_uri"],))


# --- a code of one at the way back of the other


@pytest.mark.requirement("OAU-04")
@pytest.mark.parametrize("names_itself", [True, False])
def test_a_code_of_the_honest_issuer_is_refused_in_the_flow_of_the_evil_one(
    two: TwoIssuers, names_itself: bool
) -> None:
    two.announce_iss(names_itself=names_itself)
    visitor = ConsentBrowser(two.honest.plugboard)
    honest, evil = visitor.consent(two.honest.page()), visitor.consent(two.evil.page())

    response = visitor.land(
        honest.with_params(state=evil["state"])
    )  # sent on by evil, with the state that it was given

    assert result_of(response) == {"error": "wrong_issuer" if names_itself else "other_service"}
    two.assert_nothing_reached_evil()


@pytest.mark.requirement("OAU-04")
def test_a_mix_up_fails_if_only_the_evil_issuer_omits_iss(two: TwoIssuers) -> None:
    two.evil.tenant.configure(promises_iss=False)
    visitor = ConsentBrowser(two.honest.plugboard)
    honest, evil = visitor.consent(two.honest.page()), visitor.consent(two.evil.page())

    responses = [
        visitor.land(honest.with_params(state=evil["state"])),
        visitor.land(
            visitor.consent(two.honest.page())
            .at(evil.path)
            .with_params(state=visitor.consent(two.evil.page())["state"])
        ),
    ]

    assert [result_of(response)["error"] for response in responses] == ["other_service", "wrong_issuer"]
    two.assert_nothing_reached_evil()


@pytest.mark.requirement("OAU-04")
def test_a_mix_up_fails_if_only_the_honest_issuer_omits_iss(two: TwoIssuers) -> None:
    two.honest.tenant.configure(promises_iss=False)
    visitor = ConsentBrowser(two.honest.plugboard)
    honest, evil = visitor.consent(two.honest.page()), visitor.consent(two.evil.page())

    responses = [
        visitor.land(honest.with_params(state=evil["state"])),
        visitor.land(honest.at(evil.path).with_params(state=visitor.consent(two.evil.page())["state"])),
    ]

    assert [result_of(response)["error"] for response in responses] == ["other_service", "wrong_issuer"]
    two.assert_nothing_reached_evil()


# --- the evil one's metadata names the honest one's page


@pytest.mark.requirement("OAU-04")
def test_a_browser_sent_to_the_honest_issuer_returns_with_its_name(two: TwoIssuers) -> None:
    honest, evil, visitor = two.honest.tenant, two.evil.tenant, ConsentBrowser(two.honest.plugboard)
    honest.configure(demands_resource=False, also_for=(evil.mcp_url,))
    impersonate(evil, honest)
    url = visitor.go(two.evil.page())
    register_client_of(honest, url)

    callback = callback_from(url)

    assert url.startswith(f"{honest.issuer}/authorize?")
    assert callback["iss"] == honest.issuer
    assert result_of(visitor.land(callback)) == {"error": "wrong_issuer"}
    two.assert_nothing_reached_evil()


@pytest.mark.requirement("OAU-04")
def test_a_mix_up_fails_if_the_evil_issuer_announces_no_iss(two: TwoIssuers) -> None:
    honest, evil, visitor = two.honest.tenant, two.evil.tenant, ConsentBrowser(two.honest.plugboard)
    honest.configure(demands_resource=False, also_for=(evil.mcp_url,))
    evil.configure(promises_iss=False)
    impersonate(evil, honest)
    url = visitor.go(two.evil.page())
    register_client_of(honest, url)

    assert result_of(visitor.land(callback_from(url))) == {"error": "wrong_issuer"}
    two.assert_nothing_reached_evil()


@pytest.mark.requirement("OAU-04")
def test_a_client_of_the_honest_issuer_is_redirected_to_its_own_callback_only(two: TwoIssuers) -> None:
    """Neither names itself, and evil tells us to be the client that we are at the honest one."""
    two.announce_iss(names_itself=False)
    honest, evil, visitor = two.honest.tenant, two.evil.tenant, ConsentBrowser(two.honest.plugboard)
    visitor.connect(two.honest)
    (ours,) = {family.client for family in honest.families}
    impersonate(evil, honest)

    led = visitor.go(two.evil.page())
    url = led.replace(query_of(led)["client_id"], ours)

    with caller(url) as client:
        shown = client.get(url)
    assert (shown.status_code, "bad redirect" in shown.text) == (400, True)
    two.assert_nothing_reached_evil()


@pytest.mark.requirement("OAU-10")
def test_an_issuer_that_checks_the_resource_grants_nothing_to_the_evil_one(two: TwoIssuers) -> None:
    """Neither issuer sends iss, and the honest one accepts any redirect URI."""
    two.announce_iss(names_itself=False)
    honest, evil, visitor = two.honest.tenant, two.evil.tenant, ConsentBrowser(two.honest.plugboard)
    impersonate(evil, honest)
    url = visitor.go(two.evil.page())
    register_client_of(honest, url)

    callback = callback_from(url)

    assert query_of(url)["resource"] == evil.mcp_url
    assert (callback["error"], "code" in dict(callback.params)) == ("invalid_target", False)
    assert result_of(visitor.land(callback)) == {"error": "not_granted"}
    two.assert_nothing_reached_evil()


def test_the_page_names_the_callback_host_if_it_differs(two: TwoIssuers, provider: OAuthProvider) -> None:
    impersonate(two.evil.tenant, two.honest.tenant)
    elsewhere = provider.origin.replace("127.0.0.1", "localhost")
    two.evil.tenant.configure(metadata_changes={"token_endpoint": f"{elsewhere}/token"})
    visitor = ConsentBrowser(two.evil.plugboard)

    honest, evil = (facts_on(visitor.sent("GET", item.page()).text) for item in (two.honest, two.evil))

    assert "Response goes to" not in honest
    assert (evil["Sign-in at"].partition(":")[0], evil["Response goes to"].partition(":")[0]) == (
        "127.0.0.1",
        "localhost",
    )


@pytest.mark.requirement("OAU-10")
def test_the_evil_server_cannot_request_the_resource_of_the_honest_one(two: TwoIssuers) -> None:
    two.evil.tenant.configure(prm_changes={"resource": two.honest.tenant.mcp_url})

    response = two.evil.start()

    assert response.status_code == 409
    assert "describes a different resource" in response.json()["detail"]


@pytest.mark.requirement("OAU-04", "OAU-08")
def test_an_issuer_cannot_impersonate_another(two: TwoIssuers) -> None:
    two.evil.tenant.configure(metadata_changes={"issuer": two.honest.tenant.issuer})

    response = two.evil.start()

    assert response.status_code == 409
    assert "names a different issuer" in response.json()["detail"]


@pytest.mark.requirement("OAU-04")
def test_a_metadata_document_has_a_redirect_uri_for_each_issuer(public: Plugboard, provider: OAuthProvider) -> None:
    two = TwoIssuers.at(public, provider)
    for item in (two.honest, two.evil):
        item.tenant.configure(promises_iss=False, documents_from=public.url)
    visitor = ConsentBrowser(public, HTTPS)
    honest, evil = (query_of(visitor.go(item.page())) for item in (two.honest, two.evil))

    forged = visitor.go(two.evil.page()).replace(f"{two.evil.tenant.issuer}/", f"{two.honest.tenant.issuer}/")
    forged = forged.replace(evil["client_id"].rpartition("/")[2], honest["client_id"].rpartition("/")[2])

    assert honest["client_id"] != evil["client_id"]
    assert honest["redirect_uri"] != evil["redirect_uri"]
    with caller(forged) as client:
        assert client.get(forged).status_code == 400


# --- another issuer is named later


@pytest.mark.requirement("OAU-09")
@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_an_issuer_named_later_never_receives_stored_secrets(two: TwoIssuers, method: str) -> None:
    honest, evil = two.honest.tenant, two.evil.tenant
    honest.configure(auth_methods=(method,))
    visitor = ConsentBrowser(two.honest.plugboard)
    visitor.connect(two.honest)
    honest.configure(
        authorization_servers=(evil.issuer,),
        metadata_changes={"token_endpoint": f"{evil.issuer}/token", "revocation_endpoint": f"{evil.issuer}/revoke"},
    )
    honest.expire_tokens()

    two.honest.call()
    two.honest.start()
    two.honest.workspace.admin.post(f"{two.honest.path}/oauth/disconnect")

    assert [request.fields["grant_type"] for request in honest.requests_to("token")] == [
        "authorization_code",
        "refresh_token",
    ]
    assert (evil.requests_to("token"), evil.requests_to("revoke")) == ([], [])


@pytest.mark.requirement("OAU-09")
def test_an_issuer_named_before_the_browser_returns_gets_no_code(two: TwoIssuers) -> None:
    honest, evil, visitor = two.honest.tenant, two.evil.tenant, ConsentBrowser(two.honest.plugboard)
    callback = visitor.consent(two.honest.page())
    honest.configure(
        authorization_servers=(evil.issuer,),
        also_for=(honest.mcp_url,),
        metadata_changes={"token_endpoint": f"{evil.issuer}/token"},
    )

    assert result_of(visitor.land(callback)) == {"connected": two.honest.id}
    assert (len(honest.requests_to("token")), evil.requests_to("token")) == (1, [])


@pytest.mark.requirement("OAU-09")
def test_a_new_issuer_receives_nothing_of_the_old_one(two: TwoIssuers) -> None:
    honest, evil, visitor = two.honest.tenant, two.evil.tenant, ConsentBrowser(two.honest.plugboard)
    honest.configure(auth_methods=("client_secret_basic",))
    visitor.connect(two.honest)
    old = [
        *honest.live_tokens("access"),
        *honest.live_tokens("refresh"),
        *(str(value.secret) for value in honest.clients.values()),
    ]
    honest.configure(authorization_servers=(evil.issuer,))

    assert visitor.connect(two.honest) == {"connected": two.honest.id}

    seen = json.dumps([(request.query, dict(request.headers), request.body) for request in evil.recorded_requests])
    assert len(old) == 3
    assert not [token for token in old if token in seen]
    evil.expire_tokens()
    two.honest.call()
    assert not [token for token in old if token in json.dumps([request.body for request in evil.recorded_requests])]
