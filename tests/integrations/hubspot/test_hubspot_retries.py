from typing import Any

import pytest

from integrations.errors import StatusRefused, Unreachable, UnreadableResponse
from integrations.hubspot.tools_records import hubspot_list_contacts, hubspot_search_contacts
from integrations.service_client import ToolFailed
from tests.integrations.hubspot.hubspot_account import ScriptedHubSpot, call_tool
from tests.integrations.scripted_http import ScriptedResponse

NOBODY = ScriptedResponse(200, {"results": [], "total": 0})


def limited(policy: str, **headers: str) -> ScriptedResponse:
    fields = {"status": "error", "message": "Too many.", "errorType": "RATE_LIMIT", "policyName": policy}
    return ScriptedResponse(429, fields, headers)


async def failure(script: ScriptedHubSpot) -> ToolFailed:
    with pytest.raises(ToolFailed) as raised:
        await call_tool(hubspot_list_contacts, script)
    return raised.value


@pytest.mark.parametrize(
    ("response", "seconds"),
    [
        (limited("SECONDLY"), 1.0),
        (limited("TEN_SECONDLY_ROLLING"), 10.0),
        (limited("NEW_POLICY"), 0.5),
        (limited("SECONDLY", **{"retry-after": "3"}), 3.0),
        (ScriptedResponse(429), 0.5),
        (ScriptedResponse(423, {"message": "Locked."}), 2.0),
        (ScriptedResponse(477, {}, {"retry-after": "4"}), 4.0),
        (ScriptedResponse(502, b"<html>"), 0.5),
        (ScriptedResponse(200, b"<html>"), 0.5),
        (ScriptedResponse(200, []), 0.5),
        (Unreachable("Cut off.", sent=True), 0.5),
    ],
    ids=str,
)
async def test_a_temporary_failure_is_retried(response: ScriptedResponse | Exception, seconds: float) -> None:
    script = ScriptedHubSpot(response, NOBODY)
    await call_tool(hubspot_search_contacts, script, query="ada")

    assert script.pauses == [seconds]
    assert script.requests == ["POST /crm/objects/2026-09/contacts/search"] * 2


async def test_a_rate_limit_longer_than_the_call_is_reported_with_its_seconds() -> None:
    script = ScriptedHubSpot(limited("TEN_SECONDLY_ROLLING"), seconds_left=11.0)
    failed = await failure(script)

    assert (failed.kind, failed.retry_after, script.pauses) == ("rate_limited", 10.0, [])


async def test_a_daily_limit_is_not_waited_for() -> None:
    failed = await failure(ScriptedHubSpot(limited("DAILY")))

    assert failed.kind == "rate_limited"
    assert "midnight" in failed.text


async def test_a_persistent_failure_is_reported_after_three_attempts() -> None:
    script = ScriptedHubSpot(*[ScriptedResponse(503, b"")] * 3)
    failed = await failure(script)

    assert (failed.kind, len(script.requests)) == ("upstream_unavailable", 3)


async def test_a_rejected_token_is_left_to_the_caller() -> None:
    with pytest.raises(StatusRefused) as raised:
        await call_tool(
            hubspot_list_contacts, ScriptedHubSpot(ScriptedResponse(401, {"category": "INVALID_AUTHENTICATION"}))
        )

    assert raised.value.status == 401


async def test_a_response_that_is_too_large_gets_advice_on_a_smaller_one() -> None:
    failed = await failure(ScriptedHubSpot(*[UnreadableResponse("Larger than is taken in.")] * 3))

    assert "smaller `limit`" in failed.text


@pytest.mark.parametrize(
    ("response", "kind", "text"),
    [
        (
            ScriptedResponse(403, {"category": "MISSING_SCOPES", "message": "No."}),
            "upstream_refused",
            "needs another scope",
        ),
        (
            ScriptedResponse(403, {"errors": [{"context": {"requiredScopes": ["contacts"]}}]}),
            "upstream_refused",
            "needs `contacts`. An admin",
        ),
        (
            ScriptedResponse(
                403, {"errors": [{"context": {"requiredGranularScopes": ["a.write", "b.read", "a.read"]}}]}
            ),
            "upstream_refused",
            "needs one of `a.read`, `b.read`. An admin",
        ),
        (
            ScriptedResponse(403, {"message": "Not yours"}),
            "upstream_refused",
            "view that: Not yours. The user who connected",
        ),
        (ScriptedResponse(403), "upstream_refused", "view that: HubSpot gave no reason. The user"),
        (
            ScriptedResponse(400, {"message": "Bad", "errors": [{"message": "Worse."}, {"message": "Bad"}, "odd"]}),
            "invalid_arguments",
            "HubSpot does not accept these arguments: Bad. Worse.",
        ),
        (
            ScriptedResponse(409, {"message": "Not now"}),
            "upstream_refused",
            "HubSpot refused the request (409): Not now.",
        ),
        (ScriptedResponse(414, b"<html>"), "upstream_refused", "The service did not answer as its API does (414)."),
        (ScriptedResponse(302, b""), "upstream_refused", "The service did not answer as its API does (302)."),
    ],
    ids=str,
)
async def test_a_refusal_of_hubspot_is_reported_with_its_message(
    response: ScriptedResponse, kind: str, text: str
) -> None:
    script = ScriptedHubSpot(response)
    failed = await failure(script)

    assert failed.kind == kind
    assert text in failed.text
    assert (len(script.requests), script.pauses) == (1, [])


@pytest.mark.parametrize(
    ("details", "notes"),
    [
        (ScriptedResponse(200, {"portalId": "576"}), []),
        (ScriptedResponse(404), []),
        (
            ScriptedResponse(403, {"message": "No."}),
            ["Links could not be read: HubSpot does not allow this connection to view that"],
        ),
    ],
    ids=str,
)
async def test_a_record_without_a_link_is_returned(details: ScriptedResponse, notes: list[str]) -> None:
    ada = {"id": "101", "properties": {"email": "ada@globex.example"}}
    result = await call_tool(hubspot_list_contacts, ScriptedHubSpot(ScriptedResponse(200, {"results": [ada]}), details))
    content = result.structured()

    assert content["records"][0]["name"] == "ada@globex.example"
    assert "url" not in content["records"][0]
    assert [note.partition(": No")[0] for note in content["notes"]] == notes


@pytest.mark.parametrize("args", [{"limit": "5", "archived": "false"}, {"per_page": 5, "archived": None}], ids=str)
def test_slightly_wrong_arguments_are_corrected(args: dict[str, Any]) -> None:
    params = hubspot_search_contacts.parse({"query": "ada", **args})

    assert params.limit == 5  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "strange",
    [
        {},
        {"results": None},
        {"results": ["odd"], "paging": None},
        {"results": [], "paging": {"next": {"after": None}}},
    ],
    ids=str,
)
async def test_a_response_without_its_promised_fields_is_empty(strange: dict[str, Any]) -> None:
    result = await call_tool(hubspot_list_contacts, ScriptedHubSpot(ScriptedResponse(200, strange)))

    assert result.text() == "Nothing found."
