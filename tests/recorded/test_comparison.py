"""The comparison notices every change but that of prose, and a recording is read as it was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.recorded.accepted_differences import WITH_FRAGMENT, with_additions
from tests.recorded.comparison import differences
from tests.recorded.normal_form import normal_body, normal_headers
from tests.recorded.placeholders import Placeholders
from tests.recorded.recording import folded, pretty, read, unfolded, write
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


def change_a_number(entry: Json) -> None:
    entry["status"] += 1


def remove_a_key(entry: Json) -> None:
    entry["body"].pop(min(entry["body"]))


def add_a_key(entry: Json) -> None:
    entry["body"]["added"] = None


def change_the_kind_of_an_error(entry: Json) -> None:
    error, name = (entry["body"], "code") if "code" in entry["body"] else (entry["body"]["error"], "kind")
    error[name] += "_"


MUTATIONS = (change_a_number, remove_a_key, add_a_key, change_the_kind_of_an_error)


def mutable(name: str, mutate: Callable[[Json], None]) -> list[Json]:
    entries = with_additions(read(name))["responses"]
    compared = [
        entry
        for entry in entries
        if entry.get("operation") != "getDocs" and not entry.get("request", "").endswith(WITH_FRAGMENT)
    ]
    objects = [entry for entry in compared if isinstance(entry["body"], dict) and entry["body"]]
    if mutate is not change_the_kind_of_an_error:
        return objects
    return [entry for entry in objects if {"code", "error"} & entry["body"].keys()]


@pytest.mark.parametrize("mutate", MUTATIONS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_mutation_of_any_recorded_response_is_noticed(name: str, mutate: Callable[[Json], None]) -> None:
    for entry in mutable(name, mutate):
        mutated = deepcopy(entry)
        mutate(mutated)
        before, now = ({"responses": [response], "background": []} for response in (entry, mutated))

        assert differences(before, before) == [], entry["name"]
        assert len(differences(before, now)) == 1, entry["name"]


@pytest.mark.parametrize("number", [0, 2])
def test_a_missing_and_an_additional_response_are_noticed(number: int) -> None:
    run = recorded()
    run["responses"] *= number

    assert len(differences(recorded(), run)) == 1
    assert len(differences(recorded(), recorded() | {"background": [{}]})) == 1


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


def test_the_same_text_has_the_same_placeholder() -> None:
    ids = [f"agent_{character * 33}" for character in "abca"]

    assert Placeholders().replace({ids[0]: ids}) == {
        "<agent 1>": ["<agent 1>", "<agent 2>", "<agent 3>", "<agent 1>"],
    }


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_recording_is_read_as_it_was_written(name: str) -> None:
    recording = read(name)

    assert unfolded(json.loads(pretty(folded(recording)))) == recording


def test_a_recording_is_never_overwritten(tmp_path: Path) -> None:
    checksums, run = tmp_path / "SHA256SUMS", {"responses": [], "background": []}
    write("one", run, tmp_path, checksums)
    checksum = sha256((tmp_path / "one.json").read_bytes()).hexdigest()

    with pytest.raises(FileExistsError):
        write("one", run | {"background": [{"headers": {}}]}, tmp_path, checksums)

    assert checksums.read_text(encoding="utf-8") == f"{checksum}  responses/one.json\n"
    assert sha256((tmp_path / "one.json").read_bytes()).hexdigest() == checksum
