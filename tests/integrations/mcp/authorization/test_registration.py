import json
from dataclasses import replace
from typing import Any

import pytest

from integrations.errors import StatusRefused, Unreachable, UnreadableResponse, UpstreamError
from integrations.mcp.authorization import Authorization, NotAuthorizable, RegisteredClient, discover, register_client
from integrations.oauth.model import OAuthClient
from tests.integrations.mcp.authorization.scripted_internet import (
    ISSUER,
    MCP,
    PROTECTED,
    Internet,
    ScriptedPage,
    protected,
    resource_metadata,
)

REGISTER = f"{ISSUER}/register"
CALLBACK = "https://plugboard.example.com/api/mcp/oauth/external/callback"


async def discovered(*methods: str, scopes: list[str] | None = None, **changed: object) -> Authorization:
    offered = {"token_endpoint_auth_methods_supported": list(methods)} if methods else {}
    internet = protected({f"{PROTECTED}/team/mcp": resource_metadata(scopes_supported=scopes)}, **offered, **changed)
    return await discover(internet, MCP)


async def register(internet: Internet, authorization: Authorization, callback: str = CALLBACK) -> RegisteredClient:
    return await register_client(
        internet,
        authorization,
        redirect_uri=callback,
        client_name="Plugboard",
        client_uri="https://plugboard.example.com",
    )


def answering(**said: object) -> Internet:
    answer = {"client_id": "c-1", "client_secret": "s-1"} | said
    body = json.dumps({name: value for name, value in answer.items() if value is not None})
    return Internet({REGISTER: ScriptedPage(201, body.encode())})


async def test_a_registration_has_complete_client_metadata() -> None:
    internet = answering()

    client = await register(internet, await discovered(scopes=["files:read", "files:write"]))

    [(method, url, headers, body)] = internet.requests
    assert (method, url, headers["Content-Type"]) == ("POST", REGISTER, "application/json")
    assert json.loads(body) == {
        "client_name": "Plugboard",
        "client_uri": "https://plugboard.example.com",
        "redirect_uris": [CALLBACK],
        "application_type": "web",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_basic",
        "scope": "files:read files:write",
    }
    assert client == RegisteredClient(OAuthClient("c-1", "client_secret_basic", "s-1"), None)


def sent(internet: Internet) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(internet.requests[0][3])
    return text


@pytest.mark.parametrize("callback", ["http://localhost:8400/cb", "http://127.0.0.1:8400/cb", "http://[::1]/cb"])
async def test_a_client_on_localhost_registers_as_native(callback: str) -> None:
    internet = answering()

    await register(internet, await discovered(), callback)

    assert sent(internet)["application_type"] == "native"


async def test_only_supported_features_are_registered() -> None:
    internet = answering()

    await register_client(
        internet,
        await discovered("none", grant_types_supported=["authorization_code"]),
        redirect_uri=CALLBACK,
        client_name="Plugboard",
        client_uri="http://127.0.0.1:8400",
    )

    assert sent(internet)["grant_types"] == ["authorization_code"]
    assert not {"scope", "client_uri"} & set(sent(internet))


@pytest.mark.parametrize(
    ("offered", "answer", "client"),
    [
        (["client_secret_post", "none"], {}, OAuthClient("c-1", "client_secret_post", "s-1")),
        (["none", "client_secret_basic"], {}, OAuthClient("c-1", "client_secret_basic", "s-1")),
        (["none"], {}, OAuthClient("c-1", "none")),
        (["private_key_jwt", "none"], {"client_secret": None}, OAuthClient("c-1", "none")),
        (["client_secret_basic"], {"client_secret": None}, OAuthClient("c-1", "none")),
        (
            ["client_secret_basic"],
            {"token_endpoint_auth_method": "client_secret_post"},
            OAuthClient("c-1", "client_secret_post", "s-1"),
        ),
        (["client_secret_basic"], {"token_endpoint_auth_method": "none"}, OAuthClient("c-1", "none")),
    ],
)
async def test_the_assigned_authentication_method_is_used(
    offered: list[str], answer: dict[str, Any], client: OAuthClient
) -> None:
    assert (await register(answering(**answer), await discovered(*offered))).client == client


@pytest.mark.parametrize(
    ("until", "expires_at"),
    [
        (1_893_456_000, 1_893_456_000.0),
        (0, None),
        (None, None),
        (-5, None),
        ("soon", None),
        (True, None),
        (1e300, None),
    ],
)
async def test_a_secret_may_expire(until: object, expires_at: float | None) -> None:
    assert (await register(answering(client_secret_expires_at=until), await discovered())).expires_at == expires_at


@pytest.mark.parametrize(
    "answer",
    [
        {"client_id": None},
        {"client_id": ""},
        {"client_id": 7},
        {"client_id": "c\r\nX-Evil: 1"},
        {"client_id": "c" * 3000},
        {"client_secret": "s\n"},
        {"token_endpoint_auth_method": "tls_client_auth"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"token_endpoint_auth_method": "client_secret_post", "client_secret": None},
        {"redirect_uris": ["https://evil.example.com/callback"]},
    ],
)
async def test_an_unusable_registration_response_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(NotAuthorizable) as caught:
        await register(answering(**answer), await discovered())

    assert caught.value.reason == "no_registration"


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 405])
async def test_a_refusal_says_what_to_do_without_text_of_the_server(status: int) -> None:
    body = json.dumps({"error": "invalid_redirect_uri", "error_description": "<script>canary</script>"}).encode()
    internet = Internet({REGISTER: ScriptedPage(status, body, {"location": "https://evil.example.com/"})})

    with pytest.raises(NotAuthorizable) as caught:
        await register(internet, await discovered())

    assert "clientId" in caught.value.text
    assert "canary" not in f"{caught.value!r} {caught.value.text}"
    assert len(internet.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_a_server_without_any_authorization_server_wants_a_header(status: int) -> None:
    internet = Internet({REGISTER: ScriptedPage(status)})

    with pytest.raises(NotAuthorizable) as caught:
        await register(internet, replace(await discovered(), source="assumed"))

    assert caught.value.reason == "no_oauth"
    assert "it wants a header, not OAuth" in caught.value.text


@pytest.mark.parametrize(
    ("page", "error"),
    [
        (ScriptedPage(503), StatusRefused),
        (ScriptedPage(429), StatusRefused),
        (ScriptedPage(201, b"<html>"), UnreadableResponse),
        (ScriptedPage(201, b"[]"), UnreadableResponse),
        (ScriptedPage(201, b" " * 300_000), UnreadableResponse),
        (Unreachable("."), Unreachable),
    ],
)
async def test_a_server_error_is_not_a_refusal(page: ScriptedPage | UpstreamError, error: type[Exception]) -> None:
    with pytest.raises(error):
        await register(Internet({REGISTER: page}), await discovered())


@pytest.mark.parametrize(
    "changed", [{"registration_endpoint": None}, {"token_endpoint_auth_methods_supported": ["private_key_jwt"]}]
)
async def test_without_a_registration_endpoint_no_request_is_sent(changed: dict[str, Any]) -> None:
    internet = answering()

    with pytest.raises(NotAuthorizable) as caught:
        await register(internet, await discovered(**changed))

    assert caught.value.reason == "no_registration"
    assert internet.requests == []
