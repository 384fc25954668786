"""Patterns are applied in linear time, and those that cannot be are left out."""

from typing import Any

import pytest

from api.toolbox.json_schema.normalise import normalise
from api.toolbox.json_schema.validation import Validator

NO_SLASH = r"^(?!/)[a-z/]+$"
REPEATED = r"^(a|b)\1$"


def check(schema: dict[str, Any], value: object) -> list[str]:
    return Validator.of({"properties": {"f": schema, "n": {"type": "integer"}}}).check({"f": value, "n": "x"})


WRONG_NUMBER = "`n` must be an integer; it is a string."


@pytest.mark.parametrize("pattern", [NO_SLASH, REPEATED, r"(?<=a)b", "^.{1,1000}$", "("])
def test_a_pattern_that_takes_more_than_linear_time_is_left_out_and_the_rest_counts(pattern: str) -> None:
    schema = {"properties": {"f": {"pattern": pattern, "maxLength": 3}, "n": {"type": "integer"}}}
    validator = Validator.of(schema)

    assert validator.check({"f": "/", "n": "x"}) == [WRONG_NUMBER]
    assert validator.check({"f": "/////"})[0].startswith("`f` must have at most 3 characters")
    assert validator.problem


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"not": {"pattern": NO_SLASH}}, "/"),
        ({"if": {"pattern": NO_SLASH}, "then": {"maxLength": 1}}, "/abc"),
        ({"oneOf": [{"pattern": NO_SLASH}, {"pattern": "^/(?!/)"}]}, "/abc"),
        ({"patternProperties": {NO_SLASH: {}}, "additionalProperties": False}, {"abc": 1}),
        ({"patternProperties": {NO_SLASH: {}}, "unevaluatedProperties": False}, {"abc": 1}),
        ({"allOf": [{"patternProperties": {NO_SLASH: {}}}], "unevaluatedProperties": False}, {"abc": 1}),
        ({"contains": {"pattern": NO_SLASH}, "maxContains": 1}, ["a", "/", "/"]),
    ],
)
def test_what_is_left_out_never_refuses_more(schema: dict[str, Any], value: object) -> None:
    assert check(schema, value) == [WRONG_NUMBER]


def test_the_rest_of_alternatives_with_such_a_pattern_counts() -> None:
    schema = {"oneOf": [{"type": "string", "pattern": NO_SLASH}, {"type": "null"}]}

    assert check(schema, "a/b") == [WRONG_NUMBER]
    assert check(schema, 3)[0].startswith("`f` fits none of its alternatives")


@pytest.mark.parametrize(
    ("pattern", "is_shown"),
    [(NO_SLASH, True), (REPEATED, True), ("^.{1,255}$", True), ("(", False), ("(?=", False), ("a" * 1001, False)],
)
def test_a_model_reads_each_short_valid_pattern(pattern: str, is_shown: bool) -> None:
    schema = normalise({"properties": {"f": {"pattern": pattern}}})

    assert ("pattern" in json_of(schema)) is is_shown


def json_of(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["properties"].get("f", {})
    return found


def test_a_format_that_takes_more_than_linear_time_is_left_out() -> None:
    draft = "http://json-schema.org/draft-07/schema#"
    schema = {"$schema": draft, "properties": {"r": {"format": "regex"}, "d": {"format": "date"}}}

    (sentence,) = Validator.of(schema).check({"r": "(", "d": "x"})
    assert sentence.startswith("`d` must have the format")


def test_a_reference_to_an_anchor_is_followed() -> None:
    schema = {"properties": {"f": {"$ref": "#name"}}, "$defs": {"a": {"$anchor": "name", "type": "string"}}}

    assert Validator.of(schema).check({"f": 1}) == ["`f` must be a string; it is the number 1."]


def test_a_schema_with_an_id_within_is_left_to_the_upstream() -> None:
    schema = {"properties": {"f": {"$id": "https://example.org/f", "type": "string"}}}
    validator = Validator.of(schema)

    assert validator.check({"f": 1}) == []
    assert validator.problem
