import base64
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from integrations.oauth.model import (
    AuthorizationServer,
    GrantRefused,
    GrantUnavailable,
    OAuthClient,
    Revocation,
    TokenKind,
)
from integrations.oauth.token_endpoint import revoke
from tests.fakes.raw_upstream import Responder, closing_after, responding, silent
from tests.integrations.oauth.token_endpoint import CONFIDENTIAL, TokenEndpoint, fields, responding_json, token_endpoint

BOTH: Mapping[TokenKind, str] = {"refresh": "token", "access": "token"}
SLACK_WORDS = {"token_revoked": "invalid_grant", "org_login_required": "temporarily_unavailable"}


def with_revocation(
    here: TokenEndpoint, tokens: Mapping[TokenKind, str] = BOTH, **changes: object
) -> AuthorizationServer:
    revocation = replace(Revocation(here.server.url("/revoke"), tokens), **changes)  # type: ignore[arg-type]
    return replace(here.provider, revocation=revocation, errors=SLACK_WORDS)


async def revoked(responder: Responder, *, with_client: bool = True, seconds: float = 20.0) -> None:
    async with token_endpoint(responder, seconds=seconds) as here:
        provider = with_revocation(here, {"access": "token"}, with_client=with_client)
        await revoke(here.http, provider, CONFIDENTIAL, access="a", refresh="r")
        assert here.request.line == "POST /revoke HTTP/1.1"


async def test_the_refresh_token_is_revoked_before_the_access_token() -> None:
    async with token_endpoint(responding(b"")) as here:
        await revoke(here.http, with_revocation(here), CONFIDENTIAL, access="a", refresh="r")

    ours = {"client_id": "the client", "client_secret": "s e:cret"}
    assert [fields(visit) for visit in here.server.requests] == [
        {"token": "r", "token_type_hint": "refresh_token", **ours},
        {"token": "a", "token_type_hint": "access_token", **ours},
    ]


async def test_only_existing_tokens_are_revoked_and_only_at_a_revocation_endpoint() -> None:
    async with token_endpoint(responding(b"")) as here:
        await revoke(here.http, with_revocation(here), CONFIDENTIAL, access="a", refresh=None)
        await revoke(here.http, with_revocation(here, {"refresh": "token"}), CONFIDENTIAL, access="b", refresh=None)
        await revoke(here.http, here.provider, CONFIDENTIAL, access="c", refresh="r")

    assert [fields(visit)["token"] for visit in here.server.requests] == ["a"]


async def test_a_json_revocation_contains_only_the_token() -> None:
    client = OAuthClient("id", "client_secret_basic", secret="s")
    async with token_endpoint(responding(b"")) as here:
        provider = with_revocation(here, {"access": "token"}, encoding="json")
        await revoke(here.http, provider, client, access="a", refresh="r")

    assert json.loads(here.request.body) == {"token": "a"}
    assert here.request.headers["authorization"] == f"Basic {base64.b64encode(b'id:s').decode()}"


async def test_a_bearer_revocation_is_sent_without_the_client() -> None:
    async with token_endpoint(responding(b"")) as here:
        provider = with_revocation(here, {"refresh": "refresh_token", "access": "access_token"}, with_client=False)
        await revoke(here.http, provider, CONFIDENTIAL, access="a", refresh="r")

    first, second = here.server.requests
    assert fields(first) == {"refresh_token": "r"}
    assert "authorization" not in first.headers
    assert (fields(second), second.headers["authorization"]) == ({"access_token": "a"}, "Bearer a")


@pytest.mark.parametrize(
    "responder",
    [
        responding(b""),
        responding(b"<html>done</html>"),
        responding(b"", "204 No Content"),
        responding_json({}),
        responding_json({"ok": True, "revoked": True}),
        responding_json({"error": "invalid_token"}, "400 Bad Request"),
        responding_json({"error": "unsupported_token_type"}, "400 Bad Request"),
        responding_json({"object": "error", "code": "invalid_grant"}, "400 Bad Request"),
        responding_json({}, "400 Bad Request"),
        responding(b"", "404 Not Found"),
    ],
)
async def test_a_successful_response_confirms_the_revocation(responder: Responder) -> None:
    await revoked(responder)


@pytest.mark.parametrize("word", ["token_revoked", "invalid_auth", "account_inactive", "not_authed"])
async def test_an_unknown_token_counts_as_revoked(word: str) -> None:
    await revoked(responding_json({"ok": False, "error": word}), with_client=False)
    await revoked(responding_json({"error": word}, "401 Unauthorized"), with_client=False)


@pytest.mark.parametrize(
    "responder",
    [
        responding_json({"error": "invalid_client"}, "401 Unauthorized"),
        responding_json({"error": "invalid_client"}, "400 Bad Request"),
        responding_json({"error": "invalid_client"}),
        responding_json({"object": "error", "code": "unauthorized"}, "401 Unauthorized"),
        responding(b"", "401 Unauthorized"),
    ],
)
async def test_a_rejected_client_has_revoked_nothing(responder: Responder) -> None:
    with pytest.raises(GrantRefused, match=r"^invalid_client$"):
        await revoked(responder)


async def test_an_unsupported_revocation_has_revoked_nothing() -> None:
    with pytest.raises(GrantRefused, match=r"^unauthorized_client$"):
        await revoked(responding_json({"error": "unauthorized_client"}, "403 Forbidden"))


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize(
    ("responder", "reason"),
    [
        (responding(b"", "503 Service Unavailable"), "failing"),
        (responding_json({"error": "invalid_token"}, "500 Internal Server Error"), "failing"),
        (responding(b"", "429 Too Many Requests"), "busy"),
        (responding(b"", "408 Request Timeout"), "busy"),
        (responding_json({"ok": False, "error": "ratelimited"}), "busy"),
        (responding_json({"ok": False, "error": "fatal_error"}), "busy"),
        (responding_json({"ok": False, "error": "internal_error"}), "busy"),
        (responding_json({"ok": False, "error": "org_login_required"}), "busy"),
        (responding_json({"ok": False}), "unreadable"),
        (responding(b"<html>Access denied by a firewall</html>", "403 Forbidden"), "unreadable"),
        (responding(b"", "302 Found", Location="https://login.example/"), "redirected"),
        (closing_after(), "unreachable"),
    ],
)
async def test_an_inconclusive_response_is_retried_later(responder: Responder, reason: str) -> None:
    with pytest.raises(GrantUnavailable) as problem:
        await revoked(responder)

    assert problem.value.reason == reason


async def test_retry_after_is_reported() -> None:
    with pytest.raises(GrantUnavailable) as problem:
        await revoked(responding(b"", "429 Too Many Requests", Retry_After="30"))

    assert problem.value.retry_after == 30.0


async def test_a_timeout_is_retried_later() -> None:
    with pytest.raises(GrantUnavailable, match=r"^timed_out$"):
        await revoked(silent(), seconds=0.2)
