from typing import Any

import pytest

from integrations.errors import Unreachable, UnreadableResponse
from integrations.posthog.client import PosthogApi
from integrations.posthog.resources.events import posthog_list_events
from integrations.posthog.resources.feature_flags import posthog_list_feature_flags
from integrations.posthog.resources.hogql_query import posthog_query
from integrations.service_client import ToolFailed
from integrations.tool import Result, ServiceTool
from tests.integrations.scripted_http import ScriptedResponse, ScriptedVendor

NONE = ScriptedResponse(200, {"results": [], "next": None})
RUNNING = ScriptedResponse(202, {"query_status": {"id": "q1", "complete": False}})
FLAGS = "GET /api/projects/1/feature_flags/"


class ScriptedPostHog(ScriptedVendor[PosthogApi]):
    kind = PosthogApi
    origin = "https://us.posthog.com"


async def call_tool(tool: ServiceTool, script: ScriptedPostHog, **args: Any) -> Result:
    return await tool.run(script.api, tool.params.model_validate({"projectId": 1, **args}))


async def failure(script: ScriptedPostHog, tool: ServiceTool = posthog_list_feature_flags, **args: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as raised:
        await call_tool(tool, script, **args)
    return raised.value


def refusal(status: int, detail: str, **more: Any) -> ScriptedResponse:
    return ScriptedResponse(status, {"type": "any", "code": "any", "detail": detail, "attr": None, **more})


@pytest.mark.parametrize(
    ("response", "seconds"),
    [
        (ScriptedResponse(429, {"detail": "Throttled."}, {"retry-after": "7"}), 7.0),
        (ScriptedResponse(429), 0.5),
        (ScriptedResponse(429, None, {"retry-after": "soon"}), 0.5),
        (ScriptedResponse(502, b"<html>"), 0.5),
        (ScriptedResponse(504, b""), 0.5),
        (ScriptedResponse(200, b"<html>"), 0.5),
        (Unreachable("Cut off.", sent=True), 0.5),
    ],
    ids=str,
)
async def test_a_temporary_failure_is_retried(response: ScriptedResponse | Exception, seconds: float) -> None:
    script = ScriptedPostHog(response, NONE)
    await call_tool(posthog_list_feature_flags, script)

    assert script.pauses == [seconds]
    assert script.requests == [f"{FLAGS}?limit=50"] * 2


async def test_a_query_is_retried_because_it_only_reads() -> None:
    script = ScriptedPostHog(
        Unreachable("Cut off.", sent=True), ScriptedResponse(200, {"columns": ["a"], "results": [[1]]})
    )
    await call_tool(posthog_query, script, query="SELECT 1")

    assert script.requests == ["POST /api/projects/1/query/"] * 2


async def test_a_rate_limit_longer_than_the_call_is_reported_with_its_seconds() -> None:
    failed = await failure(ScriptedPostHog(ScriptedResponse(429, None, {"retry-after": "60"})))

    assert (failed.kind, failed.retry_after) == ("rate_limited", 60.0)


async def test_a_rejected_key_suggests_the_other_region() -> None:
    failed = await failure(ScriptedPostHog(refusal(401, "Invalid personal API key.")))

    assert failed.kind == "reconnect_required"
    assert "PostHog at https://us.posthog.com does not accept this server's key." in failed.text
    assert "the other region (https://eu.posthog.com). An admin has to" in failed.text


@pytest.mark.parametrize(
    ("response", "kind", "text"),
    [
        (refusal(403, "API key missing required scope 'feature_flag:read'"), "upstream_refused", "`feature_flag:read`"),
        (
            refusal(403, "API keys with scoped projects are only supported on project-based endpoints."),
            "upstream_refused",
            "limited to certain projects",
        ),
        (
            refusal(403, "This action does not support personal API key access"),
            "upstream_refused",
            "can only be seen in PostHog.",
        ),
        (refusal(403, "You don't have access to the project."), "upstream_refused", "the person who created it"),
        (refusal(402, "Part of the premium offering."), "upstream_refused", "The plan of this PostHog organization"),
        (refusal(400, "Bad value.", attr="limit"), "invalid_arguments", "does not accept this (`limit`): Bad value."),
        (refusal(405, "Method not allowed"), "upstream_refused", "refused the request (405): Method not allowed."),
        (refusal(504, "Query has hit the max execution time before completing."), "upstream_refused", "shorter time"),
        (refusal(512, "Estimated query execution time is too long."), "upstream_refused", "shorter time range"),
        (
            ScriptedResponse(301, b"", {"location": "https://elsewhere.example/"}),
            "upstream_refused",
            "refused the request (301)",
        ),
        (ScriptedResponse(200, {"detail": "no list"}), "upstream_unavailable", "did not return a list"),
    ],
)
async def test_a_refusal_says_what_to_do(response: ScriptedResponse, kind: str, text: str) -> None:
    script = ScriptedPostHog(response)
    failed = await failure(script)

    assert failed.kind == kind
    assert text in failed.text
    assert len(script.requests) == 1


async def test_a_page_that_is_too_large_suggests_a_smaller_one() -> None:
    script = ScriptedPostHog(UnreadableResponse("Larger than is taken in."), NONE)
    await call_tool(posthog_list_feature_flags, script, limit=40)

    assert script.requests[-1] == f"{FLAGS}?limit=4"


async def test_the_next_page_is_an_offset_and_no_url() -> None:
    elsewhere = "https://evil.example/api/projects/1/feature_flags/?limit=1&offset=17"
    result = await call_tool(
        posthog_list_feature_flags,
        ScriptedPostHog(ScriptedResponse(200, {"results": [{"id": 1, "key": "a"}], "next": elsewhere, "count": 40})),
    )

    assert result.structured()["nextCursor"] == "17"


@pytest.mark.parametrize(
    ("key", "me", "requested"),
    [
        ({"scoped_teams": [5]}, None, "5"),
        ({"scoped_teams": []}, {"team": {"id": 7}}, "7"),
        ({"scoped_teams": [5, 7]}, {"team": {"id": 7}}, "7"),
    ],
)
async def test_the_default_project_is_that_of_the_key(key: Any, me: Any, requested: str) -> None:
    responses = [ScriptedResponse(200, item) for item in (key, me) if item is not None]
    script = ScriptedPostHog(*responses, NONE)
    await call_tool(posthog_list_feature_flags, script, projectId=None)

    assert script.requests[-1].startswith(f"GET /api/projects/{requested}/feature_flags/")


@pytest.mark.parametrize(
    ("key", "me", "text"),
    [({"scoped_teams": [5, 6]}, {"team": {"id": 7}}, "the projects 5, 6"), ({}, {"team": None}, "no current project")],
)
async def test_an_ambiguous_project_is_refused(key: Any, me: Any, text: str) -> None:
    failed = await failure(ScriptedPostHog(ScriptedResponse(200, key), ScriptedResponse(200, me)), projectId=None)

    assert failed.kind == "invalid_arguments"
    assert text in failed.text


async def test_a_running_query_is_polled_with_backoff() -> None:
    done = ScriptedResponse(200, {"query_status": {"complete": True, "results": {"columns": ["a"], "results": [[1]]}}})
    script = ScriptedPostHog(*[RUNNING] * 4, done)
    result = await call_tool(posthog_query, script, query="SELECT 1")

    assert script.requests == ["POST /api/projects/1/query/", *["GET /api/projects/1/query/q1/"] * 4]
    assert script.pauses == [0.15, 0.3, 0.6, 1.0]
    assert result.structured()["rows"] == [[1]]


async def test_a_stale_result_is_not_used_during_a_refresh() -> None:
    stale = {"columns": ["a"], "results": [[0]], "query_status": {"id": "q1", "complete": False}}
    done = {"query_status": {"complete": True, "results": {"columns": ["a"], "results": [[1]]}}}
    result = await call_tool(
        posthog_query, ScriptedPostHog(ScriptedResponse(202, stale), ScriptedResponse(200, done)), query="SELECT 1"
    )

    assert result.structured()["rows"] == [[1]]


async def test_a_query_that_outlasts_the_call_is_not_an_empty_result() -> None:
    script = ScriptedPostHog(*[RUNNING] * 9, seconds_left=3.0)
    result = await call_tool(posthog_query, script, query="SELECT 1")

    assert result.structured()["running"] == "q1"
    assert result.text().startswith("The query is still running at PostHog")
    assert "rows" not in result.text()


async def test_events_of_a_query_that_outlasts_the_call_are_not_shown_as_empty() -> None:
    failed = await failure(ScriptedPostHog(RUNNING, RUNNING, seconds_left=0.7), posthog_list_events)

    assert 'queryId "q1" and projectId 1' in failed.text


@pytest.mark.parametrize(
    ("response", "kind", "text"),
    [
        (
            ScriptedResponse(400, {"query_status": {"error": True, "error_message": "Too deep"}}),
            "invalid_arguments",
            "Too deep.",
        ),
        (ScriptedResponse(500, {"query_status": {"error": True}}), "upstream_refused", "could not run the query"),
        (
            ScriptedResponse(200, {"columns": [], "results": [], "error": "Odd"}),
            "invalid_arguments",
            "run the query: Odd",
        ),
    ],
)
async def test_a_query_that_fails_while_polled_says_why(response: ScriptedResponse, kind: str, text: str) -> None:
    failed = await failure(ScriptedPostHog(RUNNING, response), posthog_query, query="SELECT 1")

    assert failed.kind == kind
    assert text in failed.text
