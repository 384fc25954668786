import subprocess
import sys
from typing import Any

import httpx2
import pytest

from demo.oauth_provider.server import Client, OAuthProvider
from tests.e2e.process import PROJECT, free_port, until
from tests.fakes.authorization_client import SERVICES, OAuthApp, app_of
from tests.harness import caller

DEMO = "An MCP server to connect (authType oauth, serviceType external)"


@pytest.fixture
def server(shared: OAuthProvider) -> OAuthProvider:
    shared.reset()
    return shared


@pytest.mark.parametrize("name", SERVICES)
def test_consent_yields_tokens_that_the_service_accepts(server: OAuthProvider, name: str) -> None:
    app = app_of(server, name)

    tokens = app.connect()

    me = app.me(tokens["access_token"])
    assert (me.json()["service"], me.json()["person"], me.json()["workspace"]) == (name, "Ada", "Acme")
    assert app.me("other").status_code == 401
    assert app.tenant.counts == {"exchanges": 1}


def test_each_service_has_its_own_token_response(server: OAuthProvider) -> None:
    notion, linear, hubspot, slack = (app_of(server, name).connect() for name in SERVICES)

    assert (notion["access_token"][:4], notion["refresh_token"][:4], notion["workspace_name"]) == (
        *("ntn_", "nrt_"),
        "Acme",
    )
    assert "expires_in" not in notion
    assert notion["owner"]["user"]["name"] == "Ada"
    assert (linear["expires_in"], linear["scope"], linear["token_type"]) == (86399, "read", "Bearer")
    assert (hubspot["expires_in"], len(hubspot["scopes"]), type(hubspot["hub_id"])) == (1800, 5, int)
    assert (slack["ok"], slack["token_type"], slack["scope"]) == (True, "bot", "channels:read,chat:write")
    assert slack["access_token"].startswith("xoxb-")
    assert not {"expires_in", "refresh_token"} & slack.keys()
    assert slack["team"]["name"] == "Acme"


def test_slack_returns_pairs_only_to_apps_with_rotation(server: OAuthProvider) -> None:
    app = app_of(server, "slack")
    assert app.connect()["access_token"] == app.connect()["access_token"]

    app.tenant.configure(gives_refresh=True, access_life=43200.0, expires_in=43200.0)
    tokens = app.connect()

    assert tokens["expires_in"] == 43200
    assert tokens["access_token"].startswith("xoxe.xoxb-")
    assert tokens["refresh_token"].startswith("xoxe-1-")


REFUSED = {
    "notion": {"unauthorized", "invalid_grant", "validation_error"},
    "linear": {"invalid_client", "invalid_grant", "unsupported_grant_type"},
    "hubspot": {"BAD_CLIENT_SECRET", "BAD_AUTH_CODE", "BAD_GRANT_TYPE", "MISMATCH_REDIRECT_URI_AUTH_CODE"},
    "slack": {"bad_client_secret", "invalid_code", "invalid_grant_type", "bad_redirect_uri"},
}


def error_of(response: httpx2.Response) -> str:
    body: dict[str, Any] = response.json()
    status = body.get("status")
    return str(body.get("code") or (status if isinstance(status, str) else None) or body["error"])


@pytest.mark.parametrize("name", SERVICES)
def test_requests_that_a_vendor_would_refuse_get_its_error(server: OAuthProvider, name: str) -> None:
    app = app_of(server, name)
    responses = [
        app.exchange(app.code(), secret="wrong", code_verifier=None),
        app.exchange(app.code(), redirect_uri="http://127.0.0.1:1/api/mcp/oauth/x/callback"),
        app.exchange("code-of-nobody"),
        app.token(grant_type="password"),
    ]

    assert {error_of(response) for response in responses} <= REFUSED[name]
    assert all("access_token" not in response.json() for response in responses)
    assert {response.status_code for response in responses} <= ({200} if name == "slack" else {400, 401})
    assert app.tenant.counts == {"refusals": 4}


@pytest.mark.parametrize(
    ("name", "kind", "proof"),
    [
        ("notion", "json", "body"),
        ("hubspot", "data", "basic"),
        ("hubspot", "json", "body"),
        ("linear", "json", "body"),
        ("slack", "json", "basic"),
    ],
)
def test_a_valid_refresh_token_in_the_wrong_encoding_is_refused(
    server: OAuthProvider, name: str, kind: str, proof: str
) -> None:
    app = app_of(server, name)
    app.tenant.configure(gives_refresh=True)
    fields = {"grant_type": "refresh_token", "refresh_token": app.connect()["refresh_token"]}
    named = {"client_id": app.id, "client_secret": str(app.secret)}
    auth = (app.id, str(app.secret)) if proof == "basic" else None

    answer = app.call("POST", app.paths[1], auth=auth, **{kind: fields if auth else {**fields, **named}})

    assert "access_token" not in answer.json()
    assert "access_token" in app.refresh(fields["refresh_token"]).json()


def test_notion_refuses_unknown_fields(server: OAuthProvider) -> None:
    app = app_of(server, "notion")

    assert error_of(app.exchange(app.code(), code_verifier="x")) == "validation_error"


@pytest.mark.parametrize("name", SERVICES)
def test_a_code_expires(server: OAuthProvider, name: str) -> None:
    app = app_of(server, name)
    app.tenant.configure(code_life=0.0)

    assert "access_token" not in app.exchange(app.code()).json()


@pytest.mark.parametrize("name", SERVICES)
def test_a_code_of_another_client_is_refused(server: OAuthProvider, name: str) -> None:
    app = app_of(server, name)
    code = app.code()
    both = ("client_secret_basic", "client_secret_post")
    app.tenant.clients["other"] = Client("other", "other-secret", both)
    app.id, app.secret = "other", "other-secret"

    assert "access_token" not in app.exchange(code).json()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("notion", {"owner": None}),
        ("linear", {"actor": None}),
        ("linear", {"actor": "user"}),
        ("hubspot", {"scope": "oauth"}),
        ("slack", {"scope": "channels:read chat:write"}),
        ("slack", {"scope": "users:read"}),
        ("slack", {"code_challenge": "x"}),
        *[(name, {"client_id": "nobody"}) for name in SERVICES],
        *[(name, {"redirect_uri": "http://127.0.0.1:8400/elsewhere"}) for name in SERVICES],
    ],
)
def test_an_invalid_authorization_request_is_an_error_page_without_a_redirect(
    server: OAuthProvider, name: str, changed: dict[str, str | None]
) -> None:
    response = app_of(server, name).authorize(**changed)

    assert (response.status_code, "Location" in response.headers) == (400, False)


def test_linear_accepts_only_comma_separated_scopes(server: OAuthProvider) -> None:
    app = app_of(server, "linear")

    assert app.redirect_parameters(scope="read,write").keys() == {"code", "state"}
    assert app.redirect_parameters(scope="read write") == {"error": "invalid_scope", "state": "st"}


@pytest.mark.parametrize("name", SERVICES)
def test_the_alternative_error_format_can_be_selected(server: OAuthProvider, name: str) -> None:
    app = app_of(server, name)
    app.tenant.configure(other_errors=True)
    body = app.exchange("code-of-nobody").json()

    match name:
        case "notion":
            assert body["error"] == "invalid_grant"
        case "linear":
            assert body["error"] == "Error"
        case "hubspot":
            assert (body["status"], "error" in body) == ("BAD_AUTH_CODE", False)
        case "slack":
            assert body == {"ok": False, "error": "invalid_code"}


def test_hubspot_keeps_its_refresh_token_and_the_others_rotate(server: OAuthProvider) -> None:
    hubspot, linear = app_of(server, "hubspot"), app_of(server, "linear")
    first, other = hubspot.connect(), linear.connect()

    assert hubspot.refresh(first["refresh_token"]).json()["refresh_token"] == first["refresh_token"]
    assert linear.refresh(other["refresh_token"]).json()["refresh_token"] != other["refresh_token"]

    hubspot.tenant.configure(repeats_refresh=False)
    assert "refresh_token" not in hubspot.refresh(first["refresh_token"]).json()


def test_notion_revokes_the_pair_and_linear_and_hubspot_one_token(server: OAuthProvider) -> None:
    notion, linear, hubspot = (app_of(server, name) for name in SERVICES[:3])
    pair, other, third = notion.connect(), linear.connect(), hubspot.connect()

    notion.call("POST", notion.paths[2], json={"token": pair["access_token"]}, auth=(notion.id, str(notion.secret)))
    once = linear.call("POST", linear.paths[2], data={"refresh_token": other["refresh_token"]})
    again = linear.call("POST", linear.paths[2], data={"refresh_token": other["refresh_token"]})
    secret = {"client_id": hubspot.id, "client_secret": hubspot.secret}
    hubspot.call("POST", hubspot.paths[2], data={"token": third["refresh_token"], **secret})

    assert notion.tenant.live_tokens("access") + notion.tenant.live_tokens("refresh") == []
    assert (once.status_code, again.status_code) == (200, 400)
    assert (linear.tenant.live_tokens("access"), linear.tenant.live_tokens("refresh")) == ([other["access_token"]], [])
    assert (hubspot.tenant.live_tokens("access"), hubspot.tenant.live_tokens("refresh")) == (
        [third["access_token"]],
        [],
    )


def test_slack_revokes_the_bearer_token(server: OAuthProvider) -> None:
    app = app_of(server, "slack")
    bearer = {"Authorization": f"Bearer {app.connect()['access_token']}"}

    responses = [app.call("POST", app.paths[2], headers=item).json() for item in (bearer, bearer, {})]

    assert responses[0] == {"ok": True, "revoked": True}
    assert [response["error"] for response in responses[1:]] == ["token_revoked", "not_authed"]


def test_the_account_of_a_grant_can_be_requested(server: OAuthProvider) -> None:
    linear, hubspot, slack = (app_of(server, name) for name in SERVICES[1:])
    query = {"query": "query Me { viewer { id name app } organization { name urlKey } }"}

    def bearer(app: OAuthApp) -> dict[str, str]:
        return {"Authorization": f"Bearer {app.connect()['access_token']}"}

    who = linear.call("POST", "/linear/graphql", json=query, headers=bearer(linear)).json()["data"]
    wrong = linear.call("POST", "/linear/graphql", json={"query": "{ viewer { nickname } }"}, headers=bearer(linear))
    portal = hubspot.call("GET", "/hubspot/account-info/2026-09/details", headers=bearer(hubspot)).json()
    team = slack.call("POST", "/slack/api/auth.test", headers=bearer(slack)).json()

    assert (who["viewer"]["app"], who["organization"]) == (True, {"name": "Acme", "urlKey": "acme"})
    assert (wrong.status_code, "Cannot query field 'nickname'" in wrong.text) == (400, True)
    assert (portal["uiDomain"], team["team"]) == ("app.hubspot.com", "Acme")


def test_tokens_can_be_introspected(server: OAuthProvider) -> None:
    notion, hubspot = app_of(server, "notion"), app_of(server, "hubspot")
    pair, other = notion.connect(), hubspot.connect()
    bearer = {"Authorization": f"Bearer {pair['access_token']}"}

    def active(of_notion: str, of_hubspot: str) -> list[bool]:
        proof, form = (notion.id, str(notion.secret)), {"client_id": hubspot.id, "client_secret": str(hubspot.secret)}
        first = notion.call("POST", "/notion/v1/oauth/introspect", json={"token": of_notion}, auth=proof)
        path = f"{hubspot.paths[1]}/introspect"
        return [
            item.json()["active"] for item in (first, hubspot.call("POST", path, data={"token": of_hubspot, **form}))
        ]

    assert active(pair["access_token"], other["access_token"]) == [True, True]
    assert active("of nobody", "of nobody") == [False, False]
    assert notion.call("GET", "/notion/v1/users/me", headers=bearer).json()["code"] == "missing_version"
    versioned = {**bearer, "Notion-Version": "2025-09-03"}
    assert notion.call("GET", "/notion/v1/users/me", headers=versioned).json()["bot"]["workspace_name"] == "Acme"


def test_the_command_prints_how_to_start_plugboard_and_serves() -> None:
    port = free_port()
    command = [sys.executable, "-m", "demo.oauth_provider.server", "--port", str(port)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout
            text = list(iter(running.stdout.readline, f"{DEMO}: http://127.0.0.1:{port}/mcp/demo\n"))
            with caller(f"http://127.0.0.1:{port}") as client:
                until(lambda: reaches(client))
                behaviour = client.get("/admin/tenants/notion").json()["behaviour"]
        finally:
            running.terminate()

    assert f"export NOTION_API_BASE_URL=http://127.0.0.1:{port}/notion\n" in text
    assert behaviour["consent"] == "page"


def reaches(client: httpx2.Client) -> bool:
    try:
        return client.get("/admin/seen").status_code == 200
    except httpx2.TransportError:
        return False


def test_the_environment_names_every_address_of_every_service(server: OAuthProvider) -> None:
    result = server.environment()

    assert len(result) == 1 + 4 * 6 + 1  # PostHog takes keys, so it has an address alone
    assert result["HUBSPOT_OAUTH_REVOKE_URL"] == f"{server.origin}/hubspot/oauth/2026-09/token/revoke"
