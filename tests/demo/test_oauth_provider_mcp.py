import json
import time
from typing import Any

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from demo.oauth_provider.server import OAuthProvider
from tests.fakes.authorization_client import CHALLENGE, OAuthApp, mcp_app
from tests.harness import caller, listening

MODERN = {"MCP-Protocol-Version": "2026-07-28"}


@pytest.fixture
def server(shared: OAuthProvider) -> OAuthProvider:
    shared.reset()
    return shared


def get(server: OAuthProvider, path: str) -> httpx2.Response:
    with caller(server.origin) as client:
        return client.get(path)


def call_tool(app: OAuthApp, access: str | None, tool: str, **arguments: str) -> httpx2.Response:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {**MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    bearer = {"Authorization": f"Bearer {access}"} if access else {}
    return app.call("POST", f"/mcp/{app.name}", json=message, headers={**headers, **bearer})


def text_of(response: httpx2.Response) -> str:
    return str(response.json()["result"]["content"][0]["text"])


def test_a_token_is_required_to_reach_the_tools(server: OAuthProvider) -> None:
    app = mcp_app(server)
    stranger = call_tool(app, None, "whoami")
    assert stranger.status_code == 401
    where = f'{server.origin}/.well-known/oauth-protected-resource/mcp/acme"'
    assert stranger.headers["WWW-Authenticate"] == f'Bearer resource_metadata="{where}'

    access = app.connect()["access_token"]

    who = json.loads(text_of(call_tool(app, access, "whoami")))
    assert (who["tenant"], who["person"], who["scopes"], who["generation"]) == ("acme", "Ada", ["read"], 0)
    assert text_of(call_tool(app, access, "echo", text="hello")) == "hello"


def test_an_expired_token_is_refused_as_invalid(server: OAuthProvider) -> None:
    app = mcp_app(server)
    access = app.connect()["access_token"]

    app.tenant.expire_tokens()

    assert 'error="invalid_token"' in call_tool(app, access, "whoami").headers["WWW-Authenticate"]


def test_a_token_is_valid_for_its_server_only(server: OAuthProvider) -> None:
    app, other = mcp_app(server), mcp_app(server, "other")

    assert call_tool(other, app.connect()["access_token"], "whoami").status_code == 401


def test_a_shared_authorization_server_issues_a_token_for_one_server(server: OAuthProvider) -> None:
    app, other = mcp_app(server), server.tenant("other")
    other.configure(authorization_servers=[app.tenant.issuer])
    tokens = app.connect()
    for_other = {"resource": other.mcp_url}

    assert (
        app.call("POST", "/mcp/other", headers={"Authorization": f"Bearer {tokens['access_token']}"}).status_code == 401
    )
    assert app.exchange(app.code(), **for_other).json()["error"] == "invalid_target"
    assert app.refresh(tokens["refresh_token"], **for_other).json()["error"] == "invalid_target"
    right = app.exchange(app.code(**for_other), **for_other).json()
    bearer = {"Authorization": f"Bearer {right['access_token']}"}
    assert app.call("POST", "/mcp/other", json={}, headers=bearer).status_code != 401


def test_a_tool_that_needs_more_scopes_names_them(server: OAuthProvider) -> None:
    app = mcp_app(server)
    refused = call_tool(app, app.connect()["access_token"], "admin")

    assert refused.status_code == 403
    assert 'error="insufficient_scope", scope="admin"' in refused.headers["WWW-Authenticate"]

    code = app.code(scope="read admin")
    assert call_tool(app, app.exchange(code).json()["access_token"], "admin").status_code == 200


def test_the_server_supports_the_handshake_too(server: OAuthProvider) -> None:
    app = mcp_app(server)
    bearer = {"Authorization": f"Bearer {app.connect()['access_token']}"}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    opened = app.call("POST", "/mcp/acme", json=begin, headers=bearer)
    held = {**bearer, "Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whoami"}}

    assert json.loads(text_of(app.call("POST", "/mcp/acme", json=call, headers=held)))["person"] == "Ada"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"resource": None}, "invalid_target"),
        ({"resource": "https://elsewhere.example.com/mcp"}, "invalid_target"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"response_type": "token"}, "invalid_request"),
    ],
)
def test_an_authorization_request_without_pkce_or_resource_is_refused(
    server: OAuthProvider, changed: dict[str, str | None], error: str
) -> None:
    app = mcp_app(server)

    assert app.redirect_parameters(**changed) == {"error": error, "state": "st", "iss": app.tenant.issuer}


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": None}, "invalid_grant"),
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"resource": None}, "invalid_target"),
        ({"redirect_uri": "http://127.0.0.1:8400/other"}, "invalid_grant"),
    ],
)
@pytest.mark.requirement("OAU-03")
def test_a_code_without_its_verifier_or_resource_is_refused(
    server: OAuthProvider, changed: dict[str, str | None], error: str
) -> None:
    app = mcp_app(server)

    answer = app.exchange(app.code(), **changed)

    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert app.tenant.families == []


def test_a_repeated_parameter_is_refused(server: OAuthProvider) -> None:
    app = mcp_app(server)
    form = f"grant_type=authorization_code&code=a&code=b&client_id={app.id}"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    assert app.call("POST", app.paths[1], content=form, headers=headers).json()["error"] == "invalid_request"


def test_metadata_is_at_its_configured_url_and_other_requests_are_recorded(server: OAuthProvider) -> None:
    tenant = server.tenant("acme")
    inserted = "/.well-known/oauth-authorization-server/mcp-as/acme"
    appended = "/mcp-as/acme/.well-known/openid-configuration"
    assert get(server, inserted).json()["issuer"] == tenant.issuer
    assert get(server, appended).status_code == 404

    tenant.configure(metadata_at=["oidc appended"], metadata_changes={"code_challenge_methods_supported": None})

    assert get(server, inserted).status_code == 404
    assert "code_challenge_methods_supported" not in get(server, appended).json()
    assert [request.status for request in tenant.requests_to("metadata")] == [200, 404, 404, 200]


def test_a_server_of_2025_03_26_has_its_endpoints_at_the_root(server: OAuthProvider) -> None:
    server.tenant("old").configure(at_root=True, prm_at=())
    created = app_registered(server, "/register", token_endpoint_auth_method="none")

    assert get(server, "/.well-known/oauth-authorization-server").json()["issuer"] == server.origin
    assert get(server, "/.well-known/oauth-protected-resource/mcp/old").status_code == 404
    assert created.status_code == 201


def app_registered(server: OAuthProvider, path: str, **changed: Any) -> httpx2.Response:
    requested = {"redirect_uris": ["http://127.0.0.1:8400/callback"], "application_type": "web", "client_name": "We"}
    with caller(server.origin) as client:
        return client.post(path, json={**requested, **changed})


def test_a_registered_client_gets_the_requested_authentication_method(server: OAuthProvider) -> None:
    tenant = server.tenant("acme")
    secret = app_registered(server, "/mcp-as/acme/register", token_endpoint_auth_method="client_secret_post").json()
    public = app_registered(server, "/mcp-as/acme/register", token_endpoint_auth_method="none").json()

    assert (secret["client_secret_expires_at"], "client_secret" in public) == (0, False)
    assert {secret["client_id"], public["client_id"]} == tenant.clients.keys()
    responses: list[dict[str, Any]] = [
        {"application_type": None},
        {"redirect_uris": []},
        {"token_endpoint_auth_method": "magic"},
    ]
    assert {app_registered(server, "/mcp-as/acme/register", **response).status_code for response in responses} == {400}
    assert tenant.counts["registrations"] == 2


def test_a_client_metadata_document_is_fetched_from_its_client_id(server: OAuthProvider) -> None:
    async def document(_: Any, receive: Any, send: Any) -> None:
        await receive()
        about = {"client_id": f"{url[0]}/client.json", "redirect_uris": ["http://127.0.0.1:8400/callback"]}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(about).encode()})

    url: list[str] = []
    app = mcp_app(server)
    with listening(expired_at_once(document)) as resource:
        url.append(resource)
        known, other = (
            app.authorize(client_id=f"{resource}/client.json"),
            app.authorize(client_id=f"{resource}/other.json"),
        )

    assert (known.status_code, other.status_code) == (302, 400)


def expired_at_once(app: Any) -> Any:
    async def alive(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for response in ("lifespan.startup.complete", "lifespan.shutdown.complete"):
            await receive()
            await send({"type": response})

    return alive


def test_a_verifier_for_a_code_without_a_challenge_is_refused(server: OAuthProvider) -> None:
    app = mcp_app(server)
    app.tenant.configure(demands_pkce=False)

    assert app.exchange(app.code(code_challenge=None)).json()["error"] == "invalid_grant"
    assert "access_token" in app.exchange(app.code(code_challenge=None), code_verifier=None).json()


def test_a_registered_secret_expires(server: OAuthProvider) -> None:
    app = mcp_app(server)
    app.tenant.configure(secret_life=-1.0)
    path = "/mcp-as/acme/register"
    created = app_registered(server, path, token_endpoint_auth_method="client_secret_post").json()
    app.id, app.secret = created["client_id"], created["client_secret"]

    assert created["client_secret_expires_at"] < time.time()
    assert app.exchange(app.code()).json()["error"] == "invalid_client"


def test_a_client_is_limited_to_its_grant_types_and_authentication_method(server: OAuthProvider) -> None:
    app = mcp_app(server)
    app.tenant.add_client("machine", secret="s", grants=("client_credentials",))
    app.tenant.add_client("person", secret="s", redirect_uris=(app.redirect_uri,))
    form = {"grant_type": "client_credentials", "resource": app.tenant.mcp_url}

    def told(client: str, *, basic: bool = True, **changed: str) -> str:
        body, auth = {**form, **changed}, (client, "s") if basic else None
        return str(app.call("POST", app.paths[1], data=body, auth=auth).json().get("error"))

    assert told("machine") == "None"
    assert told("person") == "unauthorized_client"
    assert told("machine", resource="https://elsewhere.example.com/mcp") == "invalid_target"
    assert told("machine", basic=False, client_id="machine", client_secret="s") == "invalid_client"
    assert app.redirect_parameters(client_id="machine")["error"] == "unauthorized_client"


def test_client_credentials_require_the_secret(server: OAuthProvider) -> None:
    app = mcp_app(server)
    app.tenant.add_client("machine", secret="s p:c", grants=("client_credentials",))
    form = {"grant_type": "client_credentials", "scope": "read", "resource": app.tenant.mcp_url}

    right = app.call("POST", app.paths[1], data=form, auth=("machine", "s+p%3Ac"))
    wrong = app.call("POST", app.paths[1], data=form, auth=("machine", "other"))

    assert call_tool(app, right.json()["access_token"], "whoami").status_code == 200
    assert "refresh_token" not in right.json()
    assert (wrong.status_code, wrong.json()["error"]) == (401, "invalid_client")


def test_an_assertion_is_valid_once_and_for_its_audience_only(server: OAuthProvider) -> None:
    app, key = mcp_app(server), ECKey.generate_key("P-256")
    app.tenant.add_client("signer", public_key=key.as_pem(private=False).decode(), grants=("client_credentials",))

    def told(audience: str, number: str, **changed: Any) -> int:
        claims = {"iss": "signer", "sub": "signer", "aud": audience, "jti": number, "exp": int(time.time()) + 60}
        form = {
            "grant_type": "client_credentials",
            "resource": app.tenant.mcp_url,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": jwt.encode({"alg": "ES256"}, {**claims, **changed}, key),
        }
        return app.call("POST", app.paths[1], data=form).status_code

    issuer = app.tenant.issuer
    assert told(issuer, "1") == 200
    assert told(issuer, "1") == 401
    assert told("https://elsewhere.example.com", "2") == 401
    assert told(issuer, "3", exp=int(time.time()) - 1) == 401
    assert told(issuer, "4", sub="other") == 401


def test_a_server_can_change_its_authorization_server(server: OAuthProvider) -> None:
    app, other = mcp_app(server), mcp_app(server, "other")
    access = app.connect()["access_token"]

    app.tenant.configure(authorization_servers=[other.tenant.issuer])

    body = get(server, "/.well-known/oauth-protected-resource/mcp/acme").json()
    assert body["authorization_servers"] == [other.tenant.issuer]
    assert call_tool(app, access, "whoami").status_code == 401
    other.more = {"resource": app.tenant.mcp_url}
    found = other.exchange(other.code(resource=app.tenant.mcp_url)).json()
    assert call_tool(app, found["access_token"], "whoami").status_code == 200


def test_the_callback_can_be_altered(server: OAuthProvider) -> None:
    app = mcp_app(server, code_challenge=CHALLENGE)
    app.tenant.configure(consent="deny", callback_changes={"iss": None, "error_description": "<script>1</script>"})

    assert app.redirect_parameters() == {
        "error": "access_denied",
        "state": "st",
        "error_description": "<script>1</script>",
    }


def test_a_user_can_deny_consent_on_a_page(server: OAuthProvider) -> None:
    app = mcp_app(server)
    app.tenant.configure(consent="page")
    shown = app.authorize()
    url = str(shown.request.url).removeprefix(server.origin)

    allowed, denied = (app.call("POST", url, data={"consent": item}) for item in ("allow", "deny"))

    assert (shown.status_code, shown.text.count("<button")) == (200, 2)
    assert "code=" in allowed.headers["Location"]
    assert "error=access_denied" in denied.headers["Location"]


def test_revoking_a_refresh_token_ends_its_grant(server: OAuthProvider) -> None:
    app = mcp_app(server)
    tokens = app.connect()
    form = {"token": tokens["refresh_token"], "client_id": app.id}

    assert app.call("POST", app.paths[2], data={**form, "client_id": "nobody"}).status_code == 401
    assert app.tenant.live_tokens("access") == [tokens["access_token"]]
    assert app.call("POST", app.paths[2], data=form).status_code == 200
    assert app.tenant.live_tokens("access") + app.tenant.live_tokens("refresh") == []
    assert app.tenant.counts["revocations"] == 1
