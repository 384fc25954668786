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
from tests.fakes.raw_upstream import Answer, cutting_off, saying, silent
from tests.integrations.oauth.token_endpoint import CONFIDENTIAL, Place, fields, place, said

BOTH: Mapping[TokenKind, str] = {"refresh": "token", "access": "token"}
SLACK_WORDS = {"token_revoked": "invalid_grant", "org_login_required": "temporarily_unavailable"}


def with_revocation(here: Place, tokens: Mapping[TokenKind, str] = BOTH, **changes: object) -> AuthorizationServer:
    revocation = replace(Revocation(here.server.url("/revoke"), tokens), **changes)  # type: ignore[arg-type]
    return replace(here.provider, revocation=revocation, errors=SLACK_WORDS)


async def revoked(answer: Answer, *, with_client: bool = True, seconds: float = 20.0) -> None:
    async with place(answer, seconds=seconds) as here:
        provider = with_revocation(here, {"access": "token"}, with_client=with_client)
        await revoke(here.http, provider, CONFIDENTIAL, access="a", refresh="r")
        assert here.visit.line == "POST /revoke HTTP/1.1"


async def test_the_refresh_token_is_revoked_before_the_access_token() -> None:
    async with place(saying(b"")) as here:
        await revoke(here.http, with_revocation(here), CONFIDENTIAL, access="a", refresh="r")

    ours = {"client_id": "the client", "client_secret": "s e:cret"}
    assert [fields(visit) for visit in here.server.visits] == [
        {"token": "r", "token_type_hint": "refresh_token", **ours},
        {"token": "a", "token_type_hint": "access_token", **ours},
    ]


async def test_only_existing_tokens_are_revoked_and_only_at_a_revocation_endpoint() -> None:
    async with place(saying(b"")) as here:
        await revoke(here.http, with_revocation(here), CONFIDENTIAL, access="a", refresh=None)
        await revoke(here.http, with_revocation(here, {"refresh": "token"}), CONFIDENTIAL, access="b", refresh=None)
        await revoke(here.http, here.provider, CONFIDENTIAL, access="c", refresh="r")

    assert [fields(visit)["token"] for visit in here.server.visits] == ["a"]


async def test_a_json_revocation_contains_only_the_token() -> None:
    client = OAuthClient("id", "client_secret_basic", secret="s")
    async with place(saying(b"")) as here:
        provider = with_revocation(here, {"access": "token"}, encoding="json")
        await revoke(here.http, provider, client, access="a", refresh="r")

    assert json.loads(here.visit.body) == {"token": "a"}
    assert here.visit.headers["authorization"] == f"Basic {base64.b64encode(b'id:s').decode()}"


async def test_a_bearer_revocation_is_sent_without_the_client() -> None:
    async with place(saying(b"")) as here:
        provider = with_revocation(here, {"refresh": "refresh_token", "access": "access_token"}, with_client=False)
        await revoke(here.http, provider, CONFIDENTIAL, access="a", refresh="r")

    first, second = here.server.visits
    assert fields(first) == {"refresh_token": "r"}
    assert "authorization" not in first.headers
    assert (fields(second), second.headers["authorization"]) == ({"access_token": "a"}, "Bearer a")


@pytest.mark.parametrize(
    "answer",
    [
        saying(b""),
        saying(b"<html>done</html>"),
        saying(b"", "204 No Content"),
        said({}),
        said({"ok": True, "revoked": True}),
        said({"error": "invalid_token"}, "400 Bad Request"),
        said({"error": "unsupported_token_type"}, "400 Bad Request"),
        said({"object": "error", "code": "invalid_grant"}, "400 Bad Request"),
        said({}, "400 Bad Request"),
        saying(b"", "404 Not Found"),
    ],
)
async def test_a_successful_response_confirms_the_revocation(answer: Answer) -> None:
    await revoked(answer)


@pytest.mark.parametrize("word", ["token_revoked", "invalid_auth", "account_inactive", "not_authed"])
async def test_an_unknown_token_counts_as_revoked(word: str) -> None:
    await revoked(said({"ok": False, "error": word}), with_client=False)
    await revoked(said({"error": word}, "401 Unauthorized"), with_client=False)


@pytest.mark.parametrize(
    "answer",
    [
        said({"error": "invalid_client"}, "401 Unauthorized"),
        said({"error": "invalid_client"}, "400 Bad Request"),
        said({"error": "invalid_client"}),
        said({"object": "error", "code": "unauthorized"}, "401 Unauthorized"),
        saying(b"", "401 Unauthorized"),
    ],
)
async def test_a_rejected_client_has_revoked_nothing(answer: Answer) -> None:
    with pytest.raises(GrantRefused, match=r"^invalid_client$"):
        await revoked(answer)


async def test_an_unsupported_revocation_has_revoked_nothing() -> None:
    with pytest.raises(GrantRefused, match=r"^unauthorized_client$"):
        await revoked(said({"error": "unauthorized_client"}, "403 Forbidden"))


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (saying(b"", "503 Service Unavailable"), "failing"),
        (said({"error": "invalid_token"}, "500 Internal Server Error"), "failing"),
        (saying(b"", "429 Too Many Requests"), "busy"),
        (saying(b"", "408 Request Timeout"), "busy"),
        (said({"ok": False, "error": "ratelimited"}), "busy"),
        (said({"ok": False, "error": "fatal_error"}), "busy"),
        (said({"ok": False, "error": "internal_error"}), "busy"),
        (said({"ok": False, "error": "org_login_required"}), "busy"),
        (said({"ok": False}), "unreadable"),
        (saying(b"<html>Access denied by a firewall</html>", "403 Forbidden"), "unreadable"),
        (saying(b"", "302 Found", Location="https://login.example/"), "redirected"),
        (cutting_off(), "unreachable"),
    ],
)
async def test_an_inconclusive_response_is_retried_later(answer: Answer, reason: str) -> None:
    with pytest.raises(GrantUnavailable) as problem:
        await revoked(answer)

    assert problem.value.reason == reason


async def test_retry_after_is_reported() -> None:
    with pytest.raises(GrantUnavailable) as problem:
        await revoked(saying(b"", "429 Too Many Requests", Retry_After="30"))

    assert problem.value.retry_after == 30.0


async def test_a_timeout_is_retried_later() -> None:
    with pytest.raises(GrantUnavailable, match=r"^timed_out$"):
        await revoked(silent(), seconds=0.2)
