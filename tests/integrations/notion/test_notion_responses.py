"""What each answer of Notion's is taken for."""

from http import HTTPStatus
from typing import Any

import pytest

from integrations.notion.client import NotionClient
from integrations.notion.reading import ListPosition
from integrations.notion.results import location_of
from integrations.service_client import (
    CredentialRejected,
    Pause,
    RateLimited,
    Rejected,
    Reply,
    ServerTrouble,
    ServiceHttp,
    Verdict,
)

ARCHIVED = "Can't edit block that is archived. You must unarchive the block before editing."
CURSOR = "The start_cursor provided is invalid: 9c593440-5d11-40c4-886b-65074c06d6aa"


class UnusedHttp:
    """Is never asked: the verdict is on an answer that is there."""


def verdict(status: int, code: str = "", message: str = "", *, retry_after: str | None = None, **more: Any) -> Verdict:
    body = {"object": "error", "status": status, "code": code, "message": message, "additional_data": more or None}
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return verdict_on(status, body, headers)


def verdict_on(status: int, body: object, headers: dict[str, str] | None = None) -> Verdict:
    http: ServiceHttp = UnusedHttp()  # type: ignore[assignment]
    pause: Pause = None  # type: ignore[assignment]
    reason = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    return NotionClient(http, "", pause, title="Notion").verdict(Reply(status, reason, headers or {}, body))


def test_a_json_object_is_the_result() -> None:
    assert verdict_on(200, {"object": "page"}) is None


@pytest.mark.parametrize("body", [None, [], "ok"])
def test_a_response_that_is_no_object_is_server_trouble(body: object) -> None:
    assert verdict_on(200, body) == ServerTrouble("Notion did not answer as its API does (200 OK).")


def test_a_rejected_token_is_recognised() -> None:
    assert verdict(401, "unauthorized") == CredentialRejected()


@pytest.mark.parametrize("status", [429, 529])
@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), (None, None), ("soon", None), ("", None), ("٣", None)])
def test_a_short_rate_limit_is_waited_out(status: int, value: str | None, seconds: float | None) -> None:
    assert verdict(status, "rate_limited", retry_after=value) == RateLimited(seconds)


def test_a_blocked_request_is_not_retried() -> None:
    verdict_ = verdict(429, "rate_limited", retry_after="1", rate_limit_reason="public_api_request_blocked")

    assert isinstance(verdict_, Rejected)
    assert "has blocked" in verdict_.text


@pytest.mark.parametrize(
    "verdict_",
    [
        verdict(404, "object_not_found", "Could not find page with ID: 1."),
        verdict(400, "validation_error", "Provided ID 1 is a database, not a page. Use the retrieve database API."),
        verdict(400, "invalid_request_url", "Invalid request URL."),
    ],
)
def test_a_missing_object_is_left_to_the_caller(verdict_: Verdict) -> None:
    assert verdict_ is None


@pytest.mark.parametrize(
    ("verdict_", "kind", "text"),
    [
        (
            verdict(400, "validation_error", "body.x is wrong."),
            "invalid_arguments",
            "rejected the request: body.x is wrong.",
        ),
        (verdict(400, "invalid_json", "No JSON."), "upstream_refused", "rejected the request: No JSON."),
        (verdict(403, "restricted_resource", "No."), "upstream_refused", "do that (No). Either the integration lacks"),
        (verdict(403, "restricted_resource", "Full.", block_limit={}), "upstream_refused", "all blocks of its free"),
        (verdict(418, ""), "upstream_refused", "rejected the request: HTTP status 418"),
        (verdict(400, "validation_error", ARCHIVED), "upstream_refused", "`notion_update` with `archived` false"),
        (verdict(400, "validation_error", CURSOR), "invalid_arguments", "`startCursor` is not a valid cursor. Start"),
    ],
)
def test_a_refusal_says_what_to_do(verdict_: Verdict, kind: str, text: str) -> None:
    assert isinstance(verdict_, Rejected)
    assert verdict_.kind == kind
    assert text in verdict_.text


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error_leaves_the_outcome_of_a_write_unknown(status: int) -> None:
    phrase = HTTPStatus(status).phrase
    assert verdict(status, "x") == ServerTrouble(f"Notion is not available ({status} {phrase}).")


@pytest.mark.parametrize(("status", "body"), [(404, None), (302, None), (408, None), (408, {"message": "Too slow."})])
def test_a_response_from_outside_the_api_leaves_the_outcome_unknown(status: int, body: object) -> None:
    phrase = HTTPStatus(status).phrase
    assert verdict_on(status, body) == ServerTrouble(f"Notion did not answer as its API does ({status} {phrase}).")


@pytest.mark.parametrize("more", [{"committed_resource_id": "1"}, {"committed_child_ids": ["1", "2"]}])
def test_a_failed_write_reports_what_was_saved(more: dict[str, object]) -> None:
    verdict_ = verdict(503, "service_unavailable", **more)

    assert isinstance(verdict_, ServerTrouble)
    assert not verdict_.not_applied
    assert "However, Notion saved it as 1" in str(verdict_.if_maybe_applied)


def test_a_conflict_has_written_nothing() -> None:
    verdict_ = verdict(409, "conflict_error")

    assert isinstance(verdict_, ServerTrouble)
    assert verdict_.not_applied
    assert verdict_.text == "Notion did not apply the change: another change to the same object was under way."


@pytest.mark.parametrize("place", [ListPosition(), ListPosition(7), ListPosition(100, "abc"), ListPosition(0, "1.2")])
def test_a_cursor_round_trips(place: ListPosition) -> None:
    assert ListPosition.read(str(place)) == place


def test_notions_own_cursor_is_accepted() -> None:
    assert ListPosition.read("0a1b-2c") == ListPosition(0, "0a1b-2c")
    assert ListPosition.read(None) == ListPosition.read("") == ListPosition()


@pytest.mark.parametrize(
    ("parent", "text"),
    [
        ({"type": "workspace", "workspace": True}, "the workspace, at the top"),
        ({"type": "database_id", "database_id": "1-2"}, "database https://www.notion.so/12"),
        ({"type": "data_source_id", "data_source_id": "1", "database_id": "2"}, "data source 1"),
        ({"type": "agent_id", "agent_id": "1"}, None),
        (None, None),
    ],
)
def test_the_parent_of_a_page_is_described_in_words(parent: dict[str, object] | None, text: str | None) -> None:
    assert location_of(parent) == text
