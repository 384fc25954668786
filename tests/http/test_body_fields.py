"""Bodies with invalid fields, derived from the schemas of the contract."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.http.operations_on_workspace import WITH_BODY, Operation, PopulatedWorkspace, assert_problem, resolved

# One value of each kind that JSON knows, to be found again where an answer repeats it.
VALUES: Mapping[str, Any] = {
    "string": "canary-8d1f",
    "integer": 980_421_337,
    "number": 98042.5,
    "boolean": True,
    "null": None,
    "array": ["canary-8d1f"],
    "object": {"canary": "canary-8d1f"},
}

# What is wrong with a value just beyond a limit of its schema, and such a value.
BEYOND: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "enum": ("is another word", lambda _: "canary-8d1f"),
    "maxLength": ("is too long", lambda most: "c" * (most + 1)),
    "maxItems": ("has too many entries", lambda most: [f"canary_8d1f_{n}" for n in range(most + 1)]),
    "uniqueItems": ("has an entry twice", lambda _: ["canary_8d1f", "canary_8d1f"]),
    "maxProperties": ("has too many names", lambda most: {f"canary_8d1f_{n}": "canary" for n in range(most + 1)}),
    "minimum": ("is too small", lambda least: least - 1),
    "maximum": ("is too large", lambda most: most + 1),
}


def fields(
    schema: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every field of a body, those of objects in it included."""
    for name, part in schema.get("properties", {}).items():
        described = resolved(part)
        yield (*above, name), described
        yield from fields(described, (*above, name))


def kinds(described: Mapping[str, Any]) -> set[str]:
    named = described["type"]
    return {named} if isinstance(named, str) else set(named)


def wrong_values(described: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for kind, value in VALUES.items():
        if kind not in kinds(described):
            yield f"is {kind}", value
    for limit, (what, beyond) in BEYOND.items():
        if limit in described:
            yield what, beyond(described[limit])
    if "string" in kinds(described) and described.get("minLength"):
        yield "is empty", ""
    if "integer" in kinds(described):
        yield "is far too large", 10**30


WRONG = [
    pytest.param(operation, path, value, id=f"{operation}-{'.'.join(path)} {what}")
    for operation in WITH_BODY
    for path, described in fields(operation.body_schema)
    for what, value in wrong_values(described)
]


def with_value(body: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *further = path
    if not further:
        return body | {name: value}
    return body | {name: with_value(body.get(name) or {}, tuple(further), value)}


@pytest.mark.parametrize(("operation", "path", "value"), WRONG)
def test_an_invalid_value_is_named_by_its_path_and_not_repeated(
    world: PopulatedWorkspace, operation: Operation, path: tuple[str, ...], value: Any
) -> None:
    response = world.send(operation, json=with_value(operation.example, path, value))

    problem = assert_problem(response, 422, "invalid")
    assert any(f"{error['path']}.".startswith(f"{'.'.join(path)}.") for error in problem["errors"]), problem
    assert all(error["message"] for error in problem["errors"])
    messages = " ".join([problem["detail"], *(error["message"] for error in problem["errors"])])
    assert "canary" not in messages
    assert str(VALUES["integer"]) not in messages
    assert str(VALUES["number"]) not in messages


def test_invalid_values_change_nothing(world: PopulatedWorkspace) -> None:
    before = world.stored()

    for case in WRONG:
        operation, path, value = case.values
        world.send(operation, json=with_value(operation.example, path, value))

    assert world.stored() == before


@pytest.mark.requirement("AUT-16")
@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_an_unknown_field_is_refused_by_its_name(world: PopulatedWorkspace, operation: Operation) -> None:
    response = world.send(operation, json=operation.example | {"nmae": "canary-8d1f"})

    problem = assert_problem(response, 422, "invalid")
    (error,) = problem["errors"]
    assert error["path"] == "nmae"
    assert error["message"].startswith("There is no such field. ")
    assert "canary" not in response.text


@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_names_in_snake_case_are_unknown(world: PopulatedWorkspace, operation: Operation) -> None:
    body = operation.example | {"auth_type": "none", "expires_at": None, "enabled_mcp_server_ids": []}

    problem = assert_problem(world.send(operation, json=body), 422, "invalid")

    assert {error["path"] for error in problem["errors"]} >= {"auth_type", "expires_at", "enabled_mcp_server_ids"}


@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_an_unknown_nested_field_is_refused_by_its_path(world: PopulatedWorkspace, operation: Operation) -> None:
    objects = {path[:-1] for path, _ in fields(operation.body_schema) if len(path) > 1}
    for path in objects:
        body = with_value(operation.example, (*path, "nmae"), "canary-8d1f")

        problem = assert_problem(world.send(operation, json=body), 422, "invalid")

        messages = {error["path"]: error["message"] for error in problem["errors"]}
        assert messages[".".join([*path, "nmae"])].startswith("There is no such field. ")


@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_a_missing_required_field_is_named(world: PopulatedWorkspace, operation: Operation) -> None:
    required = operation.body_schema.get("required", [])

    for name in required:
        body = {item: value for item, value in operation.example.items() if item != name}
        problem = assert_problem(world.send(operation, json=body), 422, "invalid")
        assert {"path": name, "message": "This field is required."} in problem["errors"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a\x00b", id="NUL"),
        pytest.param("a\rb", id="carriage return"),
        pytest.param("a\nSet-Cookie: b", id="line feed"),
        pytest.param("a\x1b[31m", id="escape"),
        pytest.param("a\x7f", id="delete"),
        pytest.param(" ", id="a space only"),
        pytest.param("", id="nothing"),
        pytest.param("a" * 101, id="101 letters"),
    ],
)
@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_a_name_is_one_line_and_not_blank(world: PopulatedWorkspace, operation: Operation, name: str) -> None:
    problem = assert_problem(world.send(operation, json=operation.example | {"name": name}), 422, "invalid")

    assert [error["path"] for error in problem["errors"]] == ["name"]


def test_at_most_20_errors_are_listed(world: PopulatedWorkspace) -> None:
    body = {f"unknown{number}": number for number in range(1000)}

    problem = assert_problem(world.workspace.admin.post(world.workspace.servers, json=body), 422, "invalid")

    assert len(problem["errors"]) == 20
