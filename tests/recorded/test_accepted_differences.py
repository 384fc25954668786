"""The accepted differences are as narrow as they can be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.recorded.accepted_differences import NEW_METRICS
from tests.recorded.comparison import differences
from tests.recorded.normal_form import normal_body
from tests.recorded.placeholders import Placeholders
from tests.recorded.prose import TEXT
from tests.recorded.test_comparison import METRICS, response

Json = dict[str, Any]
NOTE = "`Plan` got a new option, its 3rd."
CODE = {"<body>": 1, "<code>": 3, "</code>": 3, "<p>": 2, "<text>": 9}
OLD_METRICS = {"plugboard_calls": {"type": "gauge", "help": "<text>", "samples": {}}}
RECORD = f"audit_{'0' * 20}"


def run(operation: str, body: Any, name: str = "notion_search: {}") -> Json:
    entry = {"name": name, "operation": operation, "status": 200, "headers": {}, "body": body}
    return {"responses": [entry], "background": []}


def is_accepted(before: Json, now: Json) -> bool:
    return not differences(before, now)


def call(content: Any, name: str = "notion_search: {}", *, is_error: bool = False) -> Json:
    return run("callTool", {"isError": is_error, "structuredContent": content}, name)


def tools(definition: str, *, tool: str = "notion_search_notion", within: str = "outputSchema", **changed: Any) -> Json:
    definitions = {definition: {"type": "object"} | changed, "Other": {"$ref": f"#/$defs/{definition}"}}
    schema = {"$defs": definitions, "properties": {"a": {"$ref": "#/$defs/Other"}}}
    return run("listAgentTools", {"tools": [{"name": tool, within: schema}]})


def audit(*ids: str) -> Json:
    return run("listAudit", Placeholders().replace([{"id": record_id} for record_id in ids]))


def test_a_reworded_note_is_accepted() -> None:
    assert is_accepted(call({"notes": [NOTE]}), call({"notes": ["3: `Plan` has a new option."]}))


@pytest.mark.parametrize(
    "notes",
    [
        *([], [""], [None], None, "", [NOTE, NOTE]),
        ["`Stage` got a new option, its 3rd."],
        ["Plan got a new option, its 3rd."],
        ["`Plan` got a new option, its 4th."],
        ["`Plan` got a new option."],
    ],
)
def test_only_the_words_of_a_note_may_change(notes: Any) -> None:
    assert not is_accepted(call({"notes": [NOTE]}), call({"notes": notes}))


@pytest.mark.parametrize(
    ("field", "name"),
    [("hint", "notion_search: {}"), ("message", "hubspot_get_deal: {}"), ("notes", "an MCP tool"), ("text", "slack_a")],
)
def test_other_texts_of_results_may_not_change(field: str, name: str) -> None:
    assert not is_accepted(call({field: "One."}, name), call({field: "Another."}, name))
    assert not is_accepted(call({field: ["One."]}, name), call({field: ["Another."]}, name))


def test_a_text_within_a_result_s_data_may_not_change() -> None:
    page = {"page": {"notes": ["One."], "message": "One."}}

    assert not is_accepted(call(page), call({"page": page["page"] | {"notes": ["Another."]}}))
    assert not is_accepted(call(page), call({"page": page["page"] | {"message": "Another."}}))
    assert not is_accepted(call(page, is_error=True), call(page))


def test_a_renamed_definition_is_accepted() -> None:
    assert is_accepted(tools("Page"), tools("PageResult"))


def test_the_content_of_a_definition_may_not_change() -> None:
    assert not is_accepted(tools("Page"), tools("Page", type="string"))
    assert not is_accepted(tools("Page"), tools("Page", description="A page."))


def test_definitions_of_other_schemas_may_not_be_renamed() -> None:
    for where in ({"tool": "mcp_weather_forecast"}, {"within": "inputSchema"}):
        assert not is_accepted(tools("Page", **where), tools("PageResult", **where))


def test_a_reference_to_another_definition_is_noticed() -> None:
    def schema(first: str, second: str) -> Json:
        references = {"a": {"$ref": f"#/$defs/{first}"}, "b": {"$ref": f"#/$defs/{second}"}}
        definitions = {"A": {"type": "string"}, "B": {"type": "integer"}}
        tool = {"name": "slack_a", "outputSchema": {"$defs": definitions, "properties": references}}
        return run("listServerTools", {"tools": [tool]})

    assert not is_accepted(schema("A", "B"), schema("B", "A"))
    assert not is_accepted(schema("A", "B"), schema("A", "A"))
    assert not is_accepted(schema("A", "A"), schema("A", "C"))


def test_the_documentation_page_may_change_but_not_be_empty() -> None:
    assert is_accepted(run("getDocs", CODE), run("getDocs", {"<div>": 1}))
    assert not is_accepted(run("getDocs", CODE), run("getDocs", {}))
    assert not is_accepted(run("showConnect", CODE), run("showConnect", {"<div>": 1}))


def with_headers(operation: str, **headers: str) -> Json:
    answered = run(operation, {"a": 1})
    answered["responses"][0]["headers"] = {name.replace("_", "-"): text for name, text in headers.items()}
    return answered


def test_the_contract_and_its_page_may_be_cached_and_nothing_else() -> None:
    before = {"cache_control": "no-store"}
    now = {"cache_control": "no-cache", "etag": 'W/"0123456789abcdef"', "vary": "Accept-Encoding"}

    for operation in ("getDocs", "getContract"):
        assert is_accepted(with_headers(operation, **before), with_headers(operation, **now))
        assert not is_accepted(with_headers(operation, **before), with_headers(operation, cache_control="public"))
    assert not is_accepted(with_headers("getAgent", **before), with_headers("getAgent", **now))


def test_the_policy_of_the_page_allows_scripts_of_its_own_only() -> None:
    before = with_headers("getDocs", content_security_policy="default-src 'none'; style-src 'unsafe-inline'")
    good, bad = "default-src 'none'; script-src 'self'; style-src 'self'", "default-src 'none'; script-src *"

    assert is_accepted(before, with_headers("getDocs", content_security_policy=good))
    assert not is_accepted(before, with_headers("getDocs", content_security_policy=bad))


def test_the_new_metrics_are_expected_and_no_others() -> None:
    missing = dict(list(NEW_METRICS.items())[1:])

    assert is_accepted(run("getMetrics", OLD_METRICS), run("getMetrics", OLD_METRICS | NEW_METRICS))
    for now in (
        {},
        missing,
        NEW_METRICS | {"plugboard_job_queue": {"type": "gauge"}},
        NEW_METRICS | {"plugboard_job_runs": {"type": "gauge"}},
    ):
        assert not is_accepted(run("getMetrics", OLD_METRICS), run("getMetrics", OLD_METRICS | now))


def test_the_values_of_new_metrics_are_not_compared() -> None:
    def normal(text: str) -> Any:
        return normal_body("getMetrics", response(METRICS + text, "text/plain"))

    runs = '# TYPE plugboard_job_runs_total counter\nplugboard_job_runs_total{job="prune"} 1.0\n'

    assert normal(runs) == normal(runs.replace("1.0", "2.0"))
    assert normal(runs) != normal(runs.replace("job_runs", "runs"))


def test_records_of_calls_have_the_same_number_whatever_their_batch() -> None:
    recorded = run("listAudit", [{"id": "<audit 1>_01"}, {"id": "<audit 1>_00"}, {"id": "<audit 2>_00"}])

    assert is_accepted(recorded, audit(f"{RECORD}0_00", f"{RECORD}1_01", f"{RECORD}1_00"))


@pytest.mark.parametrize(
    "ids",
    [
        [f"{RECORD}_00", f"{RECORD}_01", f"{RECORD}_00"],
        [f"{RECORD}_00", f"{RECORD}_01", f"{RECORD}2"],
        [f"{RECORD}_00", f"{RECORD}_01", f"{RECORD}_000"],
        [f"{RECORD}_00", f"{RECORD}_01"],
    ],
)
def test_ids_of_records_may_not_change(ids: list[str]) -> None:
    recorded = run("listAudit", [{"id": "<audit 1>_01"}, {"id": "<audit 1>_00"}, {"id": "<audit 2>_00"}])

    assert not is_accepted(recorded, audit(*ids))


def redirected(location: str) -> Json:
    entry = {"name": "back", "operation": "finishConnecting", "status": 303, "headers": {"location": location}}
    return {"responses": [{**entry, "body": ""}], "background": []}


def test_the_server_is_named_beside_the_error_of_a_connection() -> None:
    before = redirected("/connected?error=denied")

    assert is_accepted(before, redirected("/connected?error=denied&serverId=<server 3>"))
    assert not is_accepted(before, redirected("/connected?error=expired&serverId=<server 3>"))
    assert not is_accepted(before, redirected("/connected?error=denied&other=<server 3>"))
    assert not is_accepted(before, redirected("/connected?error=denied&serverId=server_1"))
    assert not is_accepted(redirected("/connected?connected=<server 1>"), redirected("/connected?connected=<server 2>"))


def replayed(operation: str, value: str | None = None) -> Json:
    response = run(operation, {"isError": False})
    response["responses"][0]["headers"] = {"idempotent-replayed": value} if value else {}
    return response


def test_only_a_replayed_creation_or_call_may_say_that_it_is_one() -> None:
    for operation in ("createAgent", "callTool"):
        assert is_accepted(replayed(operation), replayed(operation, "true"))
        assert not is_accepted(replayed(operation), replayed(operation, "yes"))
    assert not is_accepted(replayed("getAgent"), replayed("getAgent", "true"))


def started(place: str, body: Json, status: int, more: str = "<secret 1>") -> Json:
    request = f"GET /oauth/authorize?returnTo={place}"
    entry = {"name": "go", "operation": "connectServer", "request": request, "status": status, "headers": {}}
    return {"responses": [{**entry, "body": body}], "background": [{"secret": more}, {"secret": "<secret 7>"}]}


def test_only_a_fragment_is_accepted_as_a_new_place_to_return_to() -> None:
    refused, link = {"code": "invalid"}, {"authUrl": "/connect/<secret 1>"}
    fragment, other = "https://console.example.com/%23part", "https://evil.example"

    assert is_accepted(started(fragment, refused, 422), started(fragment, link, 200, "<secret 2>"))
    assert not is_accepted(started(other, refused, 422), started(other, link, 200, "<secret 2>"))
    assert not is_accepted(started(fragment, refused, 422), started(fragment, link, 200, "<secret 7>"))


def test_only_cancel_is_added_to_the_page_of_connect() -> None:
    before = ["<form>", "<button>", TEXT, "</button>", "</form>"]
    cancel = ['<button formaction="?cancel=true">', TEXT, "</button>"]
    other = ['<button formaction="https://evil.example">', TEXT, "</button>"]

    assert is_accepted(run("showConnect", before), run("showConnect", [*before[:-1], *cancel, before[-1]]))
    assert not is_accepted(run("showConnect", before), run("showConnect", [*before[:-1], *other, before[-1]]))
    assert not is_accepted(run("showConnect", before), run("showConnect", [*before[:-1], *cancel, *cancel, before[-1]]))
