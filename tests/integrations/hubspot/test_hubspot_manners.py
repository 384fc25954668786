from typing import Any

import pytest

from integrations.errors import StatusRefused, Unreachable, UnreadableResponse
from integrations.hubspot.tools_records import hubspot_list_contacts, hubspot_search_contacts
from integrations.service_client import ToolFailed
from tests.integrations.hubspot.hubspot_account import Script, called
from tests.integrations.scripted import Written

NOBODY = Written(200, {"results": [], "total": 0})


def limited(policy: str, **headers: str) -> Written:
    told = {"status": "error", "message": "Too many.", "errorType": "RATE_LIMIT", "policyName": policy}
    return Written(429, told, headers)


async def failure(script: Script) -> ToolFailed:
    with pytest.raises(ToolFailed) as raised:
        await called(hubspot_list_contacts, script)
    return raised.value


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (limited("SECONDLY"), 1.0),
        (limited("TEN_SECONDLY_ROLLING"), 10.0),
        (limited("NEW_POLICY"), 0.5),
        (limited("SECONDLY", **{"retry-after": "3"}), 3.0),
        (Written(429), 0.5),
        (Written(423, {"message": "Locked."}), 2.0),
        (Written(477, {}, {"retry-after": "4"}), 4.0),
        (Written(502, b"<html>"), 0.5),
        (Written(200, b"<html>"), 0.5),
        (Written(200, []), 0.5),
        (Unreachable("Cut off.", sent=True), 0.5),
    ],
    ids=str,
)
async def test_what_passes_is_waited_for_and_the_search_is_sent_again(
    answer: Written | Exception, seconds: float
) -> None:
    script = Script(answer, NOBODY)
    await called(hubspot_search_contacts, script, query="ada")

    assert script.waited == [seconds]
    assert script.asked == ["POST /crm/objects/2026-09/contacts/search"] * 2


async def test_a_limit_that_outlasts_the_call_is_told_with_its_seconds() -> None:
    script = Script(limited("TEN_SECONDLY_ROLLING"), seconds_left=11.0)
    failed = await failure(script)

    assert (failed.kind, failed.retry_after, script.waited) == ("rate_limited", 10.0, [])


async def test_a_days_limit_is_not_waited_for() -> None:
    failed = await failure(Script(limited("DAILY")))

    assert failed.kind == "rate_limited"
    assert "midnight" in failed.text


async def test_what_does_not_pass_is_told_after_three_tries() -> None:
    script = Script(*[Written(503, b"")] * 3)
    failed = await failure(script)

    assert (failed.kind, len(script.asked)) == ("upstream_unavailable", 3)


async def test_a_refused_token_is_no_matter_for_the_tool() -> None:
    with pytest.raises(StatusRefused) as raised:
        await called(hubspot_list_contacts, Script(Written(401, {"category": "INVALID_AUTHENTICATION"})))

    assert raised.value.status == 401


async def test_of_an_answer_that_is_too_large_it_is_told_how_to_get_a_smaller_one() -> None:
    failed = await failure(Script(*[UnreadableResponse("Larger than is taken in.")] * 3))

    assert "smaller `limit`" in failed.text


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (
            Written(403, {"category": "MISSING_SCOPES", "message": "No."}),
            "upstream_refused",
            "needs another scope",
        ),
        (
            Written(403, {"errors": [{"context": {"requiredScopes": ["contacts"]}}]}),
            "upstream_refused",
            "needs `contacts`. An admin",
        ),
        (
            Written(403, {"errors": [{"context": {"requiredGranularScopes": ["a.write", "b.read", "a.read"]}}]}),
            "upstream_refused",
            "needs one of `a.read`, `b.read`. An admin",
        ),
        (Written(403, {"message": "Not yours"}), "upstream_refused", "view that: Not yours. The user who connected"),
        (Written(403), "upstream_refused", "view that: HubSpot gave no reason. The user"),
        (
            Written(400, {"message": "Bad", "errors": [{"message": "Worse."}, {"message": "Bad"}, "odd"]}),
            "invalid_arguments",
            "HubSpot does not accept these arguments: Bad. Worse.",
        ),
        (Written(409, {"message": "Not now"}), "upstream_refused", "HubSpot refused the request (409): Not now."),
        (Written(414, b"<html>"), "upstream_refused", "The service did not answer as its API does (414)."),
        (Written(302, b""), "upstream_refused", "The service did not answer as its API does (302)."),
    ],
    ids=str,
)
async def test_what_hubspot_refuses_is_told_with_what_it_says(answer: Written, kind: str, text: str) -> None:
    script = Script(answer)
    failed = await failure(script)

    assert failed.kind == kind
    assert text in failed.text
    assert (len(script.asked), script.waited) == (1, [])


@pytest.mark.parametrize(
    ("details", "notes"),
    [
        (Written(200, {"portalId": "576"}), []),
        (Written(404), []),
        (
            Written(403, {"message": "No."}),
            ["Links could not be read: HubSpot does not allow this connection to view that"],
        ),
    ],
    ids=str,
)
async def test_a_record_without_a_link_is_given_all_the_same(details: Written, notes: list[str]) -> None:
    ada = {"id": "101", "properties": {"email": "ada@globex.example"}}
    found = await called(hubspot_list_contacts, Script(Written(200, {"results": [ada]}), details))
    told = found.structured()

    assert told["records"][0]["name"] == "ada@globex.example"
    assert "url" not in told["records"][0]
    assert [each.partition(": No")[0] for each in told["notes"]] == notes


@pytest.mark.parametrize("args", [{"limit": "5", "archived": "false"}, {"per_page": 5, "archived": None}], ids=str)
def test_what_is_nearly_right_is_understood(args: dict[str, Any]) -> None:
    asked = hubspot_search_contacts.parse({"query": "ada", **args})

    assert asked.limit == 5  # type: ignore[union-attr]


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
async def test_an_answer_that_lacks_what_is_promised_holds_nothing(strange: dict[str, Any]) -> None:
    found = await called(hubspot_list_contacts, Script(Written(200, strange)))

    assert found.text() == "Nothing found."
