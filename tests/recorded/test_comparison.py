"""The comparison notices every change but that of prose, and a recording is read as it was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import httpx2
import pytest

from tests.recorded.comparison import differences
from tests.recorded.normal_form import normal_body, normal_headers
from tests.recorded.placeholders import Placeholders
from tests.recorded.recording import folded, pretty, read, unfolded
from tests.recorded.scripts import SCRIPTS

Json = dict[str, Any]
Change = Callable[[Json, Json], object]
PROBLEM = {
    "type": "urn:plugboard:problem:invalid",
    "title": "The request is invalid",
    "status": 422,
    "code": "invalid",
    "detail": "See `errors`.",
    "errors": [{"path": "name", "message": "Required."}],
}
SERVER = {"id": "server_1", "authType": "none", "url": "https://mcp.example.com/", "version": 1, "enabled": True}
CALL = {"text": "No answer.", "content": [{"type": "text", "text": "No answer."}], "isError": True}
PAGE = "<html><body><p class='a'>Connected.</p></body></html>"
METRICS = '# HELP plugboard_calls Calls.\n# TYPE plugboard_calls gauge\nplugboard_calls{kind="a"} 1.0\n'

CHANGES: dict[str, Change] = {
    "another status": lambda _, entry: entry.update(status=404),
    "a missing field": lambda body, _: body.pop("version"),
    "an additional field": lambda body, _: body.update(note=""),
    "another enum value": lambda body, _: body.update(authType="header"),
    "another URL": lambda body, _: body.update(url="https://mcp.example.com"),
    "another number": lambda body, _: body.update(version=2),
    "a number instead of a truth value": lambda body, _: body.update(enabled=1),
    "a float instead of an integer": lambda body, _: body.update(version=1.0),
    "null": lambda body, _: body.update(url=None),
    "an additional header": lambda _, entry: entry["headers"].update({"x-powered-by": "x"}),
    "a missing header": lambda _, entry: entry["headers"].pop("cache-control"),
    "another header value": lambda _, entry: entry["headers"].update({"cache-control": "private"}),
    "another request to an upstream": lambda _, entry: entry.update(upstream=[]),
    "another order": lambda _, entry: entry["upstream"].reverse(),
}


def response(body: Any, kind: str = "application/json", status: int = 200, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return httpx2.Response(status, headers={"Content-Type": kind, **named}, content=content.encode())


def problem(**changed: Any) -> Any:
    return normal_body("createServer", response(PROBLEM | changed, "application/problem+json", 422))


def recorded() -> Json:
    headers = normal_headers(response(SERVER, Cache_Control="no-store", ETag='"1"'))
    upstream = [{"to": "weather", "request": f"{verb} /mcp", "headers": {"accept": "*/*"}} for verb in ("GET", "POST")]
    entry = {"name": "read", "request": "GET /", "status": 200, "headers": headers, "upstream": upstream}
    return {"responses": [entry | {"body": normal_body("getServer", response(SERVER))}], "background": []}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_noticed(change: Change) -> None:
    run = deepcopy(recorded())
    entry = run["responses"][0]

    change(entry["body"], entry)

    assert len(differences(recorded(), run)) == 1
    assert differences(recorded(), recorded()) == []


@pytest.mark.parametrize("number", [0, 2])
def test_a_missing_and_an_additional_response_are_noticed(number: int) -> None:
    run = recorded()
    run["responses"] *= number

    assert len(differences(recorded(), run)) == 1
    assert len(differences(recorded(), recorded() | {"background": [{}]})) == 1


def test_a_mutation_of_a_real_recording_is_noticed() -> None:
    before, now = read("workspaces"), read("workspaces")
    now["responses"][3]["status"] += 1

    assert len(differences(before, now)) == 1


def test_a_reworded_problem_is_accepted() -> None:
    errors = [{"path": "name", "message": "Give a name."}]

    assert problem(title="Invalid request", detail="Change it.", errors=errors) == problem()


@pytest.mark.parametrize(
    "changed",
    [
        {"code": "conflict"},
        {"status": 400},
        {"type": "about:blank"},
        {"detail": ""},
        {"detail": None},
        {"errors": []},
        {"errors": [{"path": "slug", "message": "Required."}]},
    ],
)
def test_only_the_words_of_a_problem_may_change(changed: Json) -> None:
    assert problem(**changed) != problem()


def test_the_words_of_a_failed_call_may_change_and_those_of_an_upstream_may_not() -> None:
    reworded = {**CALL, "text": "Timed out.", "content": [{"type": "text", "text": "Timed out."}]}
    failed, passed = ({"isError": True}, {"isError": False})

    def normal(body: Json, *, is_service: bool = False) -> Any:
        return normal_body("callTool", response(body), is_service=is_service)

    assert normal(CALL | failed) == normal(reworded | failed)
    assert normal(CALL | passed, is_service=True) == normal(reworded | passed, is_service=True)
    assert normal(CALL | passed) != normal(reworded | passed)
    assert normal(CALL | failed) != normal({**CALL, "text": ""})
    assert normal(CALL | failed) != normal({**CALL, "error": {"kind": "timeout"}})


def test_descriptions_in_a_list_of_tools_may_change_and_names_may_not() -> None:
    def normal(description: str, **changed: str) -> Any:
        tool = {"name": "a", "description": description, "inputSchema": {"properties": {"b": {"description": "c"}}}}
        return normal_body("listAgentTools", response({"tools": [tool | changed], "unavailable": []}))

    assert normal("One.") == normal("Another.")
    assert normal("One.") != normal("")
    assert normal("One.") != normal("One.", name="b")


def test_text_on_a_page_may_change_and_elements_may_not() -> None:
    def normal(page: str) -> Any:
        return normal_body("showConnected", response(page, "text/html"))

    assert normal(PAGE) == normal(PAGE.replace("Connected.", "It is connected."))
    assert normal(PAGE) != normal(PAGE.replace("'a'", "'b'"))
    assert normal(PAGE) != normal(PAGE.replace("Connected.", ""))


def test_the_help_of_a_metric_may_change_and_its_name_labels_and_value_may_not() -> None:
    def normal(text: str) -> Any:
        return normal_body("getMetrics", response(text, "text/plain"))

    assert normal(METRICS) == normal(METRICS.replace("Calls.", "Tool calls."))
    for before, after in (("plugboard_calls", "plugboard_uses"), ('"a"', '"b"'), ("1.0", "2.0"), ("gauge", "counter")):
        assert normal(METRICS) != normal(METRICS.replace(before, after))


def test_names_of_components_may_change_and_their_content_may_not() -> None:
    def normal(name: str, kind: str = "string", description: str = "A name.") -> Any:
        reference = {"schema": {"$ref": f"#/components/schemas/{name}"}}
        schemas = {name: {"title": name, "type": kind, "description": description}}
        contract = {"paths": {"/": {"get": reference}}, "components": {"schemas": schemas, "securitySchemes": {}}}
        return normal_body("getContract", response(contract, "application/yaml"))

    assert normal("Server") == normal("Other", description="Another name.")
    assert normal("Server") != normal("Server", kind="integer")


def test_names_of_definitions_in_a_schema_may_change_and_their_content_may_not() -> None:
    def run(name: str, kind: str = "string") -> Any:
        schema = {"$defs": {name: {"type": kind}}, "properties": {"a": {"$ref": f"#/$defs/{name}"}}}
        return {"responses": [{"name": "list", "body": {"tools": [{"outputSchema": schema}]}}], "background": {}}

    assert not differences(run("Record"), run("CrmRecord"))
    assert differences(run("Record"), run("Record", "integer"))


def test_marks_within_the_text_of_a_counted_page_may_change_and_elements_may_not() -> None:
    def run(**elements: int) -> Any:
        return {"responses": [{"name": "docs", "body": {"<body>": 1, **elements}}], "background": {}}

    assert not differences(run(**{"<code>": 3, "<p>": 2}), run(**{"<code>": 5, "<p>": 2}))
    assert differences(run(**{"<p>": 2}), run(**{"<p>": 3}))


def test_the_same_text_has_the_same_placeholder() -> None:
    ids = [f"agent_{character * 33}" for character in "abca"]

    assert Placeholders().replace({ids[0]: ids}) == {
        "<agent 1>": ["<agent 1>", "<agent 2>", "<agent 3>", "<agent 1>"],
    }


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_recording_is_read_as_it_was_written(name: str) -> None:
    recording = read(name)

    assert unfolded(json.loads(pretty(folded(recording)))) == recording
