from typing import Any

import pytest

from integrations.linear.client import LinearApi
from integrations.linear.errors import problems_in
from integrations.service_client import CredentialRejected, RateLimited, Rejected, Reply, ServerTrouble, Verdict

API = LinearApi(None, "https://api.linear.app", title="Linear")  # type: ignore[arg-type]  # nobody is asked here
NOON = "Wed, 18 Nov 2026 12:00:00 GMT"
AT_NOON = 1_795_003_200_000


def verdict(status: int, body: Any, reason: str = "", **headers: str) -> Verdict:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return API.verdict(Reply(status, reason, named, body))


def error(message: str = "Odd", **extensions: object) -> dict[str, object]:
    return {"errors": [{"message": message, "extensions": extensions}]}


def test_a_response_with_data_succeeds() -> None:
    assert verdict(200, {"data": {"teams": {}}}) is None


def test_data_beside_errors_succeeds() -> None:
    assert verdict(200, {"data": {"issue": {"labels": None}}, **error(code="INTERNAL_SERVER_ERROR")}) is None


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, None),
        (401, {"error": "invalid_token"}),
        (400, error(code="AUTHENTICATION_ERROR")),
        (200, {"data": None, **error(type="authentication error")}),
    ],
)
def test_a_rejected_token_is_recognised_in_every_form(status: int, body: object) -> None:
    assert verdict(status, body) == CredentialRejected()


@pytest.mark.parametrize(
    "body", [error(code="RATELIMITED"), error(type="ratelimited"), error(code="RATELIMITED") | {"data": None}]
)
def test_a_rate_limit_is_a_400_with_a_code(body: object) -> None:
    assert verdict(400, body) == RateLimited(None)


def test_a_429_is_a_rate_limit_too() -> None:
    assert verdict(429, None, retry_after="7") == RateLimited(7.0)


@pytest.mark.parametrize("limit", ["requests", "complexity", "endpoint-requests"])
def test_the_exhausted_limit_sets_the_wait(limit: str) -> None:
    headers = {
        f"x-ratelimit-{limit}-remaining": "0",
        f"x-ratelimit-{limit}-reset": str(AT_NOON + 42_500),
        "x-ratelimit-other-reset": str(AT_NOON + 900_000),
        "date": NOON,
    }
    assert verdict(400, error(code="RATELIMITED"), **headers) == RateLimited(42.5)


def test_limits_that_are_not_exhausted_do_not_count() -> None:
    headers = {
        "x-ratelimit-requests-remaining": "0",
        "x-ratelimit-requests-reset": str(AT_NOON + 5_000),
        "x-ratelimit-complexity-remaining": "1500000",
        "x-ratelimit-complexity-reset": str(AT_NOON + 3_000_000),
        "date": NOON,
    }
    assert verdict(400, error(code="RATELIMITED"), **headers) == RateLimited(5.0)


def test_too_few_complexity_points_count_as_exhausted() -> None:
    headers = {
        "x-ratelimit-requests-limit": "5000",
        "x-ratelimit-requests-remaining": "4999",
        "x-ratelimit-requests-reset": str(AT_NOON + 3_600_000),
        "x-ratelimit-complexity-limit": "2000000",
        "x-ratelimit-complexity-remaining": "312",
        "x-ratelimit-complexity-reset": str(AT_NOON + 900_000),
        "date": NOON,
    }
    assert verdict(400, error(code="RATELIMITED"), **headers) == RateLimited(900.0)


@pytest.mark.parametrize(
    ("reset", "date", "seconds"),
    [
        (str(AT_NOON - 60_000), NOON, 0.0),
        (str(AT_NOON * 2), NOON, 3600.0),
        (str(AT_NOON), "", None),
        (str(AT_NOON), "yesterday", None),
        ("soon", NOON, None),
        ("", NOON, None),
    ],
)
def test_invalid_times_are_ignored(reset: str, date: str, seconds: float | None) -> None:
    headers = {"x-ratelimit-requests-remaining": "0", "x-ratelimit-requests-reset": reset, "date": date}
    assert verdict(400, error(code="RATELIMITED"), **headers) == RateLimited(seconds)


@pytest.mark.parametrize("word", ["internal error", "network error", "bootstrap error", "lock timeout"])
def test_linears_internal_errors_are_server_trouble(word: str) -> None:
    assert isinstance(verdict(200, error(type=word)), ServerTrouble)


@pytest.mark.parametrize(
    ("status", "reason", "body", "text"),
    [
        (503, "Service Unavailable", None, "Linear is not available (503 Service Unavailable)."),
        (200, "OK", None, "Linear did not answer as its API does (200 OK)."),
        (200, "OK", {"data": None}, "Linear did not answer as its API does (200 OK)."),
        (200, "OK", [], "Linear did not answer as its API does (200 OK)."),
        (302, "Found", None, "Linear did not answer as its API does (302 Found)."),
    ],
)
def test_a_response_without_graphql_is_server_trouble(status: int, reason: str, body: object, text: str) -> None:
    assert verdict(status, body, reason) == ServerTrouble(text)


@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        (error("Entity not found: Issue", code="INPUT_ERROR"), "upstream_refused", "linear_search_issues"),
        (
            error("x", userPresentableMessage="Could not find referenced Issue."),
            "upstream_refused",
            "give the app access",
        ),
        (error("The query is too complex", code="INPUT_ERROR"), "upstream_refused", "a smaller `first`"),
        (error("No", type="forbidden"), "upstream_refused", "A workspace admin"),
        (error("No", type="feature not accessible"), "upstream_refused", "plan"),
        (error("No", type="usage limit exceeded"), "upstream_refused", "plan"),
        (error("Cannot query field", code="GRAPHQL_VALIDATION_FAILED"), "upstream_refused", "may have changed"),
        (error("first must be positive", code="INPUT_ERROR"), "invalid_arguments", "first must be positive"),
        (error("new", code="NEWS"), "upstream_refused", "Linear refused the request: new."),
        ({"errors": [{}]}, "upstream_refused", "no reason given"),
        (
            {"errors": [{"message": "a\nb", "extensions": None, "path": 5}]},
            "upstream_refused",
            "Linear refused the request: a b.",
        ),
    ],
)
def test_a_refusal_says_what_to_do(body: object, kind: str, part: str) -> None:
    verdict_ = verdict(400, body)
    assert isinstance(verdict_, Rejected)
    assert verdict_.kind == kind
    assert part in verdict_.text


def test_braces_in_linears_messages_are_literal() -> None:
    assert verdict(400, error("{0} {said}")) == Rejected("Linear refused the request: {0} {said}.")


def test_a_long_reason_is_cut() -> None:
    verdict_ = verdict(400, error("x" * 10_000))
    assert isinstance(verdict_, Rejected)
    assert len(verdict_.text) < 400


def test_no_more_errors_are_read_than_matter() -> None:
    assert len(problems_in(error("x") | {"errors": [{"message": str(number)} for number in range(80_000)]})) == 200


def test_a_refusal_without_graphql_names_its_status() -> None:
    assert verdict(404, None, "Not Found") == Rejected("Linear refused the request: 404 Not Found.")
