"""Bodies that no route takes, whatever it is for."""

import json
from collections.abc import Iterator

import httpx2
import pytest

from tests.http.operations_on_workspace import WITH_BODY, Operation, PopulatedWorkspace, assert_problem, documented

MEGABYTE = 1_048_576
CANARY = "canary-8d1f"

UNREADABLE = {
    "nothing at all": b"",
    "white space": b" \n\t",
    "half an object": b'{"name":',
    "no JSON": b"name=canary-8d1f",
    "two documents": b'{"name":"canary-8d1f"} {"name":"x"}',
    "a trailing comma": b'{"name":"canary-8d1f",}',
    "a comment": b'{"name":"canary-8d1f" /* really */}',
    "single quotes": b"{'name':'canary-8d1f'}",
    "the same key twice": b'{"name":"canary-8d1f","name":"other"}',
    "the same key twice, spelt differently": b'{"name":"canary-8d1f","n\\u0061me":"other"}',
    "the same key twice, further in": b'{"name":"x","config":{"headerValue":"canary-8d1f","headerValue":"other"}}',
    "the same key twice, in a list": b'{"name":"x","list":[[{"a":1,"a":2}]]}',
    "NaN": b'{"name":NaN}',
    "Infinity": b'{"name":Infinity}',
    "minus Infinity": b'{"name":-Infinity}',
    "a number beyond a double": b'{"name":1e999}',
    "a negative number beyond a double": b'{"name":-1e999}',
    "a number of 5000 digits": b'{"name":' + b"9" * 5000 + b"}",
    "a number with a leading zero": b'{"name":01}',
    "10000 open lists": b"[" * 10_000,
    "10000 nested lists": b"[" * 10_000 + b"]" * 10_000,
    "10000 nested objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "65 levels": b'{"a":' * 65 + b"1" + b"}" * 65,
    "half a surrogate pair": b'{"name":"canary-8d1f\\ud800"}',
    "half a surrogate pair in a key": b'{"canary-8d1f\\udfff":1}',
    "surrogates the wrong way round": b'{"name":"\\udc00\\ud800"}',
    "a surrogate in UTF-8": b'{"name":"\xed\xa0\x80"}',
    "broken UTF-8": b'{"name":"\xff\xfe"}',
    "overlong UTF-8": b'{"name":"\xc0\xaf"}',
    "UTF-16": '{"name":"canary-8d1f"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"name":"canary-8d1f"}'.encode("utf-16-le"),
    "UTF-32": '{"name":"canary-8d1f"}'.encode("utf-32"),
    "a byte order mark": b'\xef\xbb\xbf{"name":"canary-8d1f"}',
    "a control character in a string": b'{"name":"canary\x00-8d1f"}',
    "a line end in a string": b'{"name":"canary-8d1f\n"}',
}
NO_OBJECT = {"null": b"null", "a list": b"[]", "text": b'"canary-8d1f"', "a number": b"5", "true": b"true"}
NOT_JSON = {
    "no content type": {},
    "an empty content type": {"Content-Type": ""},
    "plain text": {"Content-Type": "text/plain"},
    "a form": {"Content-Type": "application/x-www-form-urlencoded"},
    "a form of many parts": {"Content-Type": "multipart/form-data; boundary=x"},
    "another kind of JSON": {"Content-Type": "application/vnd.api+json"},
    "a longer name": {"Content-Type": "application/jsonp"},
}

for_every_body = pytest.mark.parametrize("operation", WITH_BODY, ids=str)


def send(world: PopulatedWorkspace, operation: Operation, body: bytes) -> httpx2.Response:
    return world.send(operation, content=body, headers={"Content-Type": "application/json"})


@pytest.mark.requirement("AUT-16")
@for_every_body
@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_a_body_that_is_not_plain_json_is_unreadable(
    world: PopulatedWorkspace, operation: Operation, body: bytes
) -> None:
    response = send(world, operation, body)

    assert_problem(response, 400, "unreadable")
    assert documented(operation, response)
    assert CANARY not in response.text


@for_every_body
@pytest.mark.parametrize("body", NO_OBJECT.values(), ids=NO_OBJECT)
def test_a_body_that_is_no_object_is_one_error_without_a_field(
    world: PopulatedWorkspace, operation: Operation, body: bytes
) -> None:
    response = send(world, operation, body)

    problem = assert_problem(response, 422, "invalid")
    assert problem["errors"] == [{"path": "", "message": "Must be a JSON object."}]


@for_every_body
@pytest.mark.parametrize("headers", NOT_JSON.values(), ids=NOT_JSON)
def test_a_body_of_another_media_type_is_not_parsed(
    world: PopulatedWorkspace, operation: Operation, headers: dict[str, str]
) -> None:
    response = world.send(operation, content=json.dumps(operation.example).encode(), headers=headers)

    assert_problem(response, 415, "unsupported_media_type")
    assert documented(operation, response)


@for_every_body
def test_a_refused_body_changes_nothing(world: PopulatedWorkspace, operation: Operation) -> None:
    before = world.stored()

    for body in [*UNREADABLE.values(), *NO_OBJECT.values()]:
        assert send(world, operation, body).status_code in (400, 422)
    for headers in NOT_JSON.values():
        world.send(operation, content=json.dumps(operation.example).encode(), headers=headers)
    send(world, operation, b'{"name":"' + b"x" * MEGABYTE + b'"}')

    assert world.stored() == before


@pytest.mark.requirement("AUT-16")
@for_every_body
def test_64_levels_are_accepted(world: PopulatedWorkspace, operation: Operation) -> None:
    response = send(world, operation, b'{"a":' * 64 + b"1" + b"}" * 64)

    assert_problem(response, 422, "invalid")  # no longer for its depth


@pytest.mark.requirement("AUT-16")
@for_every_body
@pytest.mark.parametrize("size", [MEGABYTE + 1, 10_000_000])
def test_a_body_that_is_too_large_gets_a_413(world: PopulatedWorkspace, operation: Operation, size: int) -> None:
    response = send(world, operation, b" " * size)

    assert_problem(response, 413, "too_large")
    assert documented(operation, response)


@pytest.mark.requirement("AUT-16")
@for_every_body
def test_a_chunked_body_has_the_same_limit(world: PopulatedWorkspace, operation: Operation) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(160):
            yield b" " * 65_536

    response = world.send(operation, content=chunks(), headers={"Content-Type": "application/json"})

    assert_problem(response, 413, "too_large")


@for_every_body
def test_a_body_of_exactly_the_limit_is_accepted(world: PopulatedWorkspace, operation: Operation) -> None:
    response = send(world, operation, b'{"unknown":1}'.ljust(MEGABYTE))

    assert_problem(response, 422, "invalid")


@for_every_body
@pytest.mark.parametrize("media_type", ["application/json;charset=utf-8", "Application/JSON", "application/json ; q=1"])
def test_a_media_type_may_have_parameters_and_any_case(
    world: PopulatedWorkspace, operation: Operation, media_type: str
) -> None:
    response = world.send(operation, content=b'{"unknown":1}', headers={"Content-Type": media_type})

    assert_problem(response, 422, "invalid")


@for_every_body
def test_a_forbidden_request_is_refused_before_its_body_is_checked(
    world: PopulatedWorkspace, operation: Operation
) -> None:
    stranger = world.workspace.plugboard.caller()

    response = stranger.request(
        operation.method, world.path(operation), content=b"[", headers={"Content-Type": "application/json"}
    )

    assert_problem(response, 401, "unauthorized")


@for_every_body
@pytest.mark.parametrize("entry", [b"{}", b"[]", b"1", b'"\\u0061"'])
def test_a_body_of_too_many_values_gets_a_413(world: PopulatedWorkspace, operation: Operation, entry: bytes) -> None:
    response = send(world, operation, b'{"name":["\\u0061"' + (b"," + entry) * 100_000 + b"]}")

    problem = assert_problem(response, 413, "too_large")
    assert problem["detail"] == "A body may hold at most 20000 values."
    assert documented(operation, response)


@pytest.mark.parametrize(
    ("kind", "path", "body"),
    [
        ("agents", "enabledMcpServerIds", {"enabledMcpServerIds": ["A"] * 19_000}),
        ("agents", "enabledMcpServerToolNames", {"enabledMcpServerToolNames": {str(n): 0 for n in range(900)}}),
        ("agents", "enabledMcpServerToolNames.a", {"enabledMcpServerToolNames": {"a": [""] * 19_000}}),
        ("api-keys", "agentIds", {"scope": "invoke", "agentIds": ["A"] * 19_000}),
        (
            "mcp-servers",
            "config.headers",
            {"authType": "header", "config": {"headers": {str(n): 0 for n in range(900)}}},
        ),
    ],
)
def test_a_list_that_is_too_long_is_one_error(
    world: PopulatedWorkspace, kind: str, path: str, body: dict[str, object]
) -> None:
    response = world.workspace.admin.post(f"{world.workspace.path}/{kind}", json={"name": "A"} | body)

    problem = assert_problem(response, 422, "invalid")
    assert problem["errors"] == [{"path": path, "message": "This is too long."}]


def test_wrong_tool_names_are_one_error_for_each_list(world: PopulatedWorkspace) -> None:
    names = {f"server_{number}": [""] * 400 for number in range(19)}

    response = world.workspace.admin.post(
        f"{world.workspace.path}/agents", json={"name": "A", "enabledMcpServerToolNames": names}
    )

    problem = assert_problem(response, 422, "invalid")
    assert len(problem["errors"]) == 19
