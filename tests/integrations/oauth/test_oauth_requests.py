import base64
import hashlib
import json
import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from integrations.oauth.model import AuthorizationServer, GrantUnavailable, OAuthClient
from integrations.oauth.token_endpoint import authorize_url, client_credentials, exchange_code, new_verifier, refresh
from tests.fakes.raw_upstream import Responder, closing_after, raw, silent
from tests.integrations.oauth.token_endpoint import (
    CONFIDENTIAL,
    PUBLIC,
    TOKENS,
    fields,
    responding_json,
    token_endpoint,
)

CALLBACK = "https://ours.example/api/mcp/oauth/a/callback"
PROVIDER = AuthorizationServer("https://login.example/authorize", "https://login.example/token")


def authorization_query(
    provider: AuthorizationServer, scopes: tuple[str, ...] = (), verifier: str | None = None
) -> dict[str, str]:
    url = authorize_url(provider, PUBLIC, redirect_uri=CALLBACK, state="st&te", scopes=scopes, verifier=verifier)
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs), "a parameter was sent twice"
    return dict(pairs)


def test_the_authorization_url_has_client_and_redirect_uri() -> None:
    assert authorization_query(PROVIDER) == {
        "response_type": "code",
        "client_id": "the client",
        "redirect_uri": CALLBACK,
        "state": "st&te",
    }


@pytest.mark.requirement("OAU-03")
def test_the_challenge_is_the_sha_256_of_the_verifier() -> None:
    verifier = new_verifier()

    query = authorization_query(PROVIDER, verifier=verifier)

    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    assert (query["code_challenge"], query["code_challenge_method"]) == (digest, "S256")
    assert verifier not in str(query)


@pytest.mark.requirement("OAU-03")
def test_verifiers_are_long_unique_and_of_the_allowed_characters() -> None:
    several = {new_verifier() for _ in range(1000)}

    assert len(several) == 1000
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{43,128}", item) for item in several)


@pytest.mark.parametrize(("separator", "expected"), [(" ", "read write"), (",", "read,write")])
def test_scopes_are_joined_with_the_providers_separator(separator: str, expected: str) -> None:
    assert authorization_query(replace(PROVIDER, scope_separator=separator), ("read", "write"))["scope"] == expected


def test_an_endpoint_keeps_its_query_and_gets_additional_parameters() -> None:
    provider = replace(
        PROVIDER,
        authorize_url="https://login.example/authorize?tenant=a%20b&empty=",
        authorize_params={"owner": "user", "state": "theirs"},
        resource="https://mcp.example/mcp",
    )

    query = authorization_query(provider)

    assert (query["tenant"], query["empty"], query["owner"]) == ("a b", "", "user")
    assert (query["resource"], query["state"]) == ("https://mcp.example/mcp", "st&te")


@pytest.mark.requirement("OAU-03")
async def test_a_code_is_exchanged_with_its_verifier_and_redirect_uri() -> None:
    async with token_endpoint(TOKENS) as here:
        provider = replace(here.provider, resource="https://mcp.example/mcp")
        results = await exchange_code(here.http, provider, PUBLIC, code="c&d", redirect_uri=CALLBACK, verifier="v" * 43)

    assert results.access == "new"
    assert here.request.line == "POST /token HTTP/1.1"
    assert here.request.headers["accept"] == "application/json"
    assert fields(here.request) == {
        "grant_type": "authorization_code",
        "code": "c&d",
        "redirect_uri": CALLBACK,
        "code_verifier": "v" * 43,
        "resource": "https://mcp.example/mcp",
        "client_id": "the client",
    }


async def test_without_a_challenge_no_verifier_is_sent() -> None:
    async with token_endpoint(TOKENS) as here:
        await exchange_code(here.http, here.provider, PUBLIC, code="c", redirect_uri=CALLBACK, verifier=None)

    assert fields(here.request).keys() == {"grant_type", "code", "redirect_uri", "client_id"}


async def test_a_json_token_endpoint_gets_json() -> None:
    client = OAuthClient("id", "client_secret_basic", secret="s")
    async with token_endpoint(TOKENS) as here:
        provider = replace(here.provider, token_encoding="json")
        await exchange_code(here.http, provider, client, code="ç", redirect_uri=CALLBACK, verifier=None)

    assert here.request.headers["content-type"] == "application/json"
    assert json.loads(here.request.body) == {"grant_type": "authorization_code", "code": "ç", "redirect_uri": CALLBACK}


async def test_a_refresh_names_the_resource_and_no_scope() -> None:
    async with token_endpoint(TOKENS) as here:
        provider = replace(here.provider, resource="https://mcp.example/mcp")
        await refresh(here.http, provider, CONFIDENTIAL, "r")

    assert fields(here.request) == {
        "grant_type": "refresh_token",
        "refresh_token": "r",
        "resource": "https://mcp.example/mcp",
        "client_id": "the client",
        "client_secret": "s e:cret",
    }


async def test_a_client_credentials_request_names_scope_and_resource() -> None:
    async with token_endpoint(TOKENS) as here:
        provider = replace(here.provider, resource="https://mcp.example/mcp")
        await client_credentials(here.http, provider, CONFIDENTIAL, ["a", "b"])

    assert fields(here.request) == {
        "grant_type": "client_credentials",
        "scope": "a b",
        "resource": "https://mcp.example/mcp",
        "client_id": "the client",
        "client_secret": "s e:cret",
    }


async def unavailable(responder: Responder, *, at: str | None = None, seconds: float = 20.0) -> GrantUnavailable:
    async with token_endpoint(responder, seconds=seconds) as here:
        provider = replace(here.provider, token_url=at or here.provider.token_url)
        with pytest.raises(GrantUnavailable) as problem:
            await refresh(here.http, provider, PUBLIC, "r")
    return problem.value


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"])
async def test_a_dropped_connection_leaves_the_outcome_unknown(start: bytes) -> None:
    problem = await unavailable(closing_after(start))

    assert (problem.reason, problem.sent) == ("unreachable", True)


@pytest.mark.requirement("OAU-14")
async def test_a_timeout_leaves_the_outcome_unknown() -> None:
    problem = await unavailable(silent(), seconds=0.2)

    assert (problem.reason, problem.sent) == ("timed_out", True)


@pytest.mark.requirement("OAU-14")
async def test_a_malformed_response_ends_no_grant() -> None:
    problem = await unavailable(raw(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"))

    assert (problem.reason, problem.sent) == ("unreadable", True)


@pytest.mark.requirement("OAU-14")
async def test_a_blocked_address_gets_no_request() -> None:
    problem = await unavailable(TOKENS, at="https://10.0.0.1/token")

    assert (problem.reason, problem.sent) == ("unreachable", False)


@pytest.mark.requirement("OAU-14")
async def test_a_redirect_of_the_token_endpoint_is_not_followed() -> None:
    async with token_endpoint(TOKENS) as other:
        problem = await unavailable(responding_json({}, "307 Temporary Redirect", Location=other.server.url("/token")))

    assert (problem.reason, other.server.requests) == ("redirected", [])
