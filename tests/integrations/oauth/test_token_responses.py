import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integrations.oauth.model import GrantRefused, GrantUnavailable, Tokens
from integrations.oauth.token_response import MAX_BYTES, TokenResponse, parse_tokens, retry_after

GOOD = {"access_token": "a", "token_type": "bearer"}
NOW = "Wed, 18 Nov 2026 10:00:00 GMT"


def tokens_of(found: object, status: int = 200, words: Mapping[str, str] | None = None, **headers: str) -> Tokens:
    body = found if isinstance(found, bytes) else json.dumps(found).encode()
    return parse_tokens(
        TokenResponse(status, {name.replace("_", "-"): value for name, value in headers.items()}, body), words or {}
    )


def refusal_of(value: object, status: int = 400, words: Mapping[str, str] | None = None) -> str:
    with pytest.raises(GrantRefused) as problem:
        tokens_of(value, status, words)
    return problem.value.error


def unavailable(value: object, status: int = 200, **headers: str) -> GrantUnavailable:
    with pytest.raises(GrantUnavailable) as problem:
        tokens_of(value, status, **headers)
    assert problem.value.sent
    return problem.value


def test_a_standard_token_response_is_parsed_completely() -> None:
    expected = {**GOOD, "refresh_token": "r", "expires_in": 3600, "scope": "read write", "team": {"id": "T"}}

    assert tokens_of(expected, 201) == Tokens("a", "r", 3600.0, ("read", "write"), expected)


@pytest.mark.parametrize("nothing", [{"error": None}, {"error": ""}, {"error": {}}, {"ok": True}, {"ok": None}])
def test_an_empty_error_field_is_ignored(nothing: Mapping[str, object]) -> None:
    assert tokens_of({**GOOD, **nothing}).access == "a"


def test_no_repr_shows_a_token() -> None:
    shown = repr(tokens_of({**GOOD, "access_token": "hidden-a", "refresh_token": "hidden-r"}))

    assert "hidden" not in shown


@pytest.mark.parametrize("kind", ["Bearer", "BEARER", "bot", None])
def test_a_bearer_token_is_accepted_in_any_spelling(kind: str | None) -> None:
    assert tokens_of({**GOOD, "token_type": kind}).access == "a"
    assert tokens_of({"access_token": "a"}).access == "a"


@pytest.mark.parametrize("kind", ["DPoP", "mac", "", 1, ["bearer"]])
def test_a_token_of_another_type_is_refused(kind: object) -> None:
    assert refusal_of({**GOOD, "token_type": kind}, 200) == "unsupported_token_type"


@pytest.mark.requirement("OAU-18")
@pytest.mark.parametrize("id_token", ["", "no.jwt.at-all", "eyJhbGciOiJub25lIn0.e30.", 7, {"alg": "none"}])
def test_an_id_token_is_ignored(id_token: object) -> None:
    assert tokens_of({**GOOD, "id_token": id_token}) == Tokens("a", answer={**GOOD, "id_token": id_token})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3600, 3600.0),
        (0.5, 0.5),
        ("3600", 3600.0),
        (" 12.5 ", 12.5),
        *[
            (odd, None)
            for odd in (None, 0, -1, "-1", "soon", "", "1e9", "١٢", "1_000", True, [60], {}, 10**12, 10**400)
        ],
        *[(odd, None) for odd in (float("inf"), float("nan"), float("-inf"), "9" * 5000)],
    ],
)
def test_an_invalid_lifetime_is_ignored(value: object, expected: float | None) -> None:
    assert tokens_of({**GOOD, "expires_in": value}).expires_in == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"scope": "a b"}, ("a", "b")),
        ({"scope": "a,b"}, ("a", "b")),
        ({"scope": "a, b  a"}, ("a", "b")),
        ({"scope": ["a", "b c", 1, None]}, ("a", "b", "c")),
        ({"scopes": ["crm.read", "oauth"]}, ("crm.read", "oauth")),
        ({"scope": None, "scopes": ["a"]}, ("a",)),
        ({"scope": ""}, None),
        ({"scope": []}, None),
        ({"scope": {"a": 1}}, None),
        ({"scope": "\u202e\x00 " + "x" * 300}, None),
        ({}, None),
    ],
)
def test_scopes_are_parsed_in_every_form(value: Mapping[str, object], expected: tuple[str, ...] | None) -> None:
    assert tokens_of({**GOOD, **value}).scopes == expected


def test_the_number_of_scopes_is_limited() -> None:
    scopes = tokens_of({**GOOD, "scope": " ".join(map(str, range(10_000)))}).scopes

    assert scopes == tuple(map(str, range(200)))


@pytest.mark.parametrize("odd", [None, "", 7, ["r"], "r\x00", "ř", "r" * 16_385])
def test_an_unusable_refresh_token_is_ignored(odd: object) -> None:
    assert tokens_of({**GOOD, "refresh_token": odd}).refresh is None


@pytest.mark.parametrize("odd", [None, "", 7, ["a"], "a b", "a\r\nX: y", "ä", "a" * 16_385])
def test_an_access_token_that_fits_no_header_is_refused(odd: object) -> None:
    assert unavailable({**GOOD, "access_token": odd}).reason == "unreadable"


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize(
    ("value", "status", "expected"),
    [
        ({"error": "invalid_grant"}, 400, "invalid_grant"),
        ({"error": "invalid_client"}, 401, "invalid_client"),
        ({"error": "invalid_grant", "status": "BAD_REFRESH_TOKEN"}, 400, "invalid_grant"),
        ({"object": "error", "status": 400, "code": "invalid_grant"}, 400, "invalid_grant"),
        ({"status": "BAD_REFRESH_TOKEN", "message": "m"}, 400, "bad_refresh_token"),
        ({"ok": False, "error": "invalid_code"}, 200, "invalid_code"),
        ({"error": "bad_verification_code"}, 200, "bad_verification_code"),
        ({"error": "Error"}, 400, "error"),
        ({"error": "invalid_grant", "access_token": "a"}, 400, "invalid_grant"),
        ({"error": "invalid_grant", "access_token": "a"}, 200, "invalid_grant"),
    ],
)
def test_a_standard_error_is_classified(value: object, status: int, expected: str) -> None:
    assert refusal_of(value, status) == expected


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize(
    ("value", "status"),
    [({"status": "BAD_REFRESH_TOKEN"}, 400), ({"ok": False, "error": "BAD_REFRESH_TOKEN"}, 200)],
)
def test_vendor_error_codes_are_mapped_by_the_manifest(value: object, status: int) -> None:
    assert refusal_of(value, status, {"BAD_REFRESH_TOKEN": "invalid_grant"}) == "invalid_grant"


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "no such grant", "a" * 65, "ünvalid", "a\nb", "\ud800"])
def test_free_text_of_a_provider_is_not_passed_on(text: str) -> None:
    expected = {"error": text, "error_description": "leak", "message": "leak"}

    with pytest.raises(GrantRefused) as problem:
        tokens_of(expected, 400)

    assert (problem.value.error, str(problem.value)) == ("unknown", "unknown")


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("status", [408, 423, 425, 429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize("value", [{"error": "invalid_grant"}, {"error": "unheard_of"}, b"<html>", b"", GOOD])
def test_a_5xx_response_ends_no_grant(status: int, value: object) -> None:
    unavailable(value, status)


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("status", [200, 400, 401])
@pytest.mark.parametrize(
    "word",
    ["temporarily_unavailable", "server_error", "slow_down", "ratelimited", "internal_error", "fatal_error"],
)
def test_a_temporary_error_ends_no_grant(status: int, word: str) -> None:
    unavailable({"ok": False, "error": word}, status)


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("status", [200, 204, 400, 401, 403, 404])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>no</html>",
        b"null",
        b'["invalid_grant"]',
        b'"invalid_grant"',
        b'{"error": "invalid_grant"',
        b"\xff\xfe\x00",
        b'{"error": {"type": "invalid_grant"}}',
        b'{"message": "Forbidden"}',
        b'{"error": ""}',
        b"[" * 100_000,
        b'{"error": "invalid_grant", "a": "' + b"x" * MAX_BYTES + b'"}',
    ],
)
def test_an_unreadable_response_ends_no_grant(status: int, body: bytes) -> None:
    assert unavailable(body, status).reason == "unreadable"


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 304])
def test_a_token_in_a_redirect_is_ignored(status: int) -> None:
    assert unavailable(GOOD, status, location="https://evil.example/").reason == "redirected"


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "999999"}, 3600.0),
        ({"retry-after": "Wed, 18 Nov 2026 10:00:30 GMT", "date": NOW}, 30.0),
        ({"retry-after": "Wed, 18 Nov 2026 10:00:30 -0000", "date": NOW}, 30.0),
        ({"retry-after": "Wed, 18 Nov 2026 09:00:00 GMT", "date": NOW}, 0.0),
        ({"retry-after": "Wed, 18 Nov 2099 10:00:00 GMT", "date": NOW}, 3600.0),
        ({"retry-after": "Wed, 18 Nov 2026 10:00:30 GMT"}, None),
        ({"retry-after": "Wed, 18 Nov 2026 10:00:30 GMT", "date": "today"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_parsed_and_bounded(headers: Mapping[str, str], expected: float | None) -> None:
    assert retry_after(headers) == expected


def test_a_refusal_with_retry_after_is_temporary() -> None:
    assert unavailable({"status": "error"}, 477, retry_after="5").retry_after == 5.0
    assert unavailable({"error": "rate"}, 429, retry_after="5").retry_after == 5.0


NAMES = (
    "access_token",
    "refresh_token",
    "token_type",
    "expires_in",
    "scope",
    "scopes",
    "error",
    "code",
    "status",
    "ok",
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["bearer", "invalid_grant"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING) | ANYTHING, st.integers(100, 599), st.text() | st.just("9"))
def test_any_json_is_tokens_a_refusal_or_unreadable(value: object, status: int, wait: str) -> None:
    assert_one_of_three(json.dumps(value).encode(), status, wait)


@settings(deadline=None)
@given(st.binary(), st.integers(100, 599), st.text())
def test_any_bytes_are_tokens_a_refusal_or_unreadable(body: bytes, status: int, wait: str) -> None:
    assert_one_of_three(body, status, wait)


def assert_one_of_three(body: bytes, status: int, wait: str) -> None:
    match outcome(TokenResponse(status, {"retry-after": wait, "date": wait}, body)):
        case GrantRefused(error=error):
            assert status < 500
            assert error.isascii()
        case GrantUnavailable(retry_after=seconds):
            assert seconds is None or 0 <= seconds <= 3600
        case Tokens(access=access, expires_in=life):
            assert 200 <= status < 300
            assert access.isascii()
            assert life is None or life > 0


def outcome(answer: TokenResponse) -> Tokens | GrantRefused | GrantUnavailable:
    try:
        return parse_tokens(answer, {})
    except (GrantRefused, GrantUnavailable) as problem:
        return problem
