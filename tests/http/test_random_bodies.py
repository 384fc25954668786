"""Randomly generated bodies."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness import Plugboard
from tests.http.operations_on_workspace import (
    WITH_BODY,
    Operation,
    PopulatedWorkspace,
    assert_problem,
    documented,
    resolved,
)

QUICKLY = settings(max_examples=60, deadline=None)

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
anything = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
operations = st.sampled_from(WITH_BODY)


@pytest.fixture(scope="module")
def world(on_sqlite: Plugboard) -> PopulatedWorkspace:
    """Some of these bodies are good ones, so this world changes."""
    return PopulatedWorkspace.create_in(on_sqlite.make_workspace("A world for random bodies"))


def sent(world: PopulatedWorkspace, operation: Operation, body: bytes) -> None:
    response = world.send(operation, content=body, headers={"Content-Type": "application/json"})

    assert response.status_code < 500
    assert documented(operation, response)
    if response.status_code >= 400:
        assert_problem(response, response.status_code, response.json()["code"])


@QUICKLY
@given(operation=operations, body=anything)
def test_no_document_breaks_anything(world: PopulatedWorkspace, operation: Operation, body: Any) -> None:
    sent(world, operation, json.dumps(body).encode())


@QUICKLY
@given(operation=operations, data=st.data())
def test_no_value_in_a_known_field_breaks_anything(
    world: PopulatedWorkspace, operation: Operation, data: st.DataObject
) -> None:
    names = sorted(operation.body_schema["properties"])
    inner = sorted(resolved(operation.body_schema["properties"].get("config", {})).get("properties", {"x": None}))
    config = st.dictionaries(st.sampled_from(inner), anything)
    changed = data.draw(st.dictionaries(st.sampled_from(names), anything | config, min_size=1))

    sent(world, operation, json.dumps(operation.example | changed).encode())


@QUICKLY
@given(operation=operations, body=st.binary(max_size=200))
def test_no_bytes_break_anything(world: PopulatedWorkspace, operation: Operation, body: bytes) -> None:
    sent(world, operation, body)


@QUICKLY
@given(operation=operations, data=st.data())
def test_no_damage_to_a_valid_body_breaks_anything(
    world: PopulatedWorkspace, operation: Operation, data: st.DataObject
) -> None:
    good = json.dumps(operation.example).encode()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(start + 8, len(good))))

    sent(world, operation, good[:start] + data.draw(st.binary(max_size=8)) + good[end:])
