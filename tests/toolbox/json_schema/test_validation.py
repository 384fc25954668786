import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.toolbox.json_schema.error_messages import MAX_ERRORS, MAX_SENTENCE
from api.toolbox.json_schema.validation import MAX_DEPTH, Validator

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
WORDS = ["type", "properties", "items", "required", "enum", "allOf", "anyOf", "$ref", "$defs", "pattern", "minimum"]
SCHEMAS = st.dictionaries(st.sampled_from(WORDS), JSON | st.sampled_from(["#", "object", "#/$defs/a"]), max_size=5)


def nested(depth: int) -> dict[str, Any]:
    created: dict[str, Any] = {}
    for _ in range(depth):
        created = {"a": created}
    return created


def check(schema: dict[str, Any], args: object) -> list[str]:
    return Validator.of(schema).check(args)


def field(schema: dict[str, Any], value: object) -> list[str]:
    return check({"properties": {"f": schema}}, {"f": value})


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        ({"type": "string"}, 3, "`f` must be a string; it is the number 3."),
        ({"type": ["integer", "null"]}, "x", "`f` must be an integer or null; it is a string."),
        ({"type": "string"}, None, "`f` must be a string; it is null."),
        ({"type": "object"}, [], "`f` must be an object; it is an array."),
        ({"enum": ["a", "b"]}, "c", '`f` must be one of "a", "b"; it is "c".'),
        ({"const": 1}, 2, "`f` must be 1; it is 2."),
        ({"minLength": 2}, "x", '`f` must have at least 2 characters; it is "x".'),
        ({"maximum": 9}, 10, "`f` must be at most 9; it is 10."),
        ({"pattern": "^a"}, "b", '`f` must match the pattern "^a"; it is "b".'),
        ({"uniqueItems": True}, [1, 1], "`f` must not hold the same item twice; it is [1, 1]."),
        ({"items": {"type": "string"}}, ["a", 1], "`f[1]` must be a string; it is the number 1."),
        ({"properties": {"x y": {"type": "null"}}}, {"x y": 1}, '`f["x y"]` must be null; it is the number 1.'),
        ({"required": ["a"]}, {}, "`f` needs the field `a`, which is missing."),
        (False, 1, "`f` must be left out."),
        (
            {"anyOf": [{"type": "string"}, {"const": 1}]},
            None,
            "`f` fits none of its alternatives: `f` must be a string; it is null; or: `f` must be 1; it is null.",
        ),
        (
            {"propertyNames": {"maxLength": 1}},
            {"ab": 1},
            '`f` has a field with a wrong name. Its name must have at most 1 characters; it is "ab".',
        ),
    ],
)
def test_an_error_names_the_path_the_expected_and_the_actual_value(schema: Any, value: object, sentence: str) -> None:
    assert field(schema, value) == [sentence]


@pytest.mark.parametrize("word", ["additionalProperties", "unevaluatedProperties"])
def test_an_unknown_field_is_named_with_the_known_ones(word: str) -> None:
    assert check({"properties": {"city": {}, "day": {}}, word: False}, {"ctiy": 1}) == [
        "The arguments object has unknown fields: `ctiy`. Did you mean `city`? It may have `city`, `day`."
    ]


def test_known_fields_are_found_through_references_and_in_lists() -> None:
    there = {"properties": {"x": {}}, "additionalProperties": False}
    referred = {"allOf": [{"properties": {"f": {"$ref": "#/$defs/d"}}}], "$defs": {"d": there}}

    assert check(referred, {"f": {"zzz": 1}}) == ["`f` has unknown fields: `zzz`. It may have `x`."]
    assert check({"additionalProperties": False}, {"z": 1})[0].endswith("It may have none.")


def test_valid_arguments_have_no_errors() -> None:
    assert check({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "x", "b": 1}) == []


def test_errors_are_capped_in_number_and_length() -> None:
    names = [f"field{number}" * 40 for number in range(100)]

    sentences = check({"required": names, "additionalProperties": False}, {"\u202e" + "y" * 5000: 1})

    assert len(sentences) == MAX_ERRORS + 1
    assert sentences[-1] == "There are more errors."
    assert all(len(sentence) <= MAX_SENTENCE and "\u202e" not in sentence for sentence in sentences)


def test_long_lists_of_allowed_values_are_cut() -> None:
    assert " and 88 more; it is" in field({"enum": list(range(100))}, "x")[0]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strnig"},
        {"pattern": "("},
        {"$ref": "#/$defs/none"},
        {"$ref": "http://127.0.0.1:1/schema"},
        {"$ref": "file:///etc/passwd"},
        {"const": "\ud800"},
        nested(200),
        {"enum": list(range(30_000))},
        [],
        "object",
    ],
)
def test_an_invalid_schema_blocks_no_call_and_is_reported(schema: object) -> None:
    validator = Validator.of(schema)

    assert validator.check({"any": "thing"}) == []
    assert validator.problem
    assert len(validator.problem) <= 200


def test_a_missing_schema_accepts_any_arguments() -> None:
    assert Validator.of(None).problem is None


@contextmanager
def asked() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine, and the paths that it was asked for."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/schema", paths
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("word", ["$ref", "$dynamicRef", "$schema"])
def test_nothing_is_fetched_for_a_schema(word: str) -> None:
    with asked() as (address, paths):
        Validator.of({word: address}).check({})

    assert paths == []


@pytest.mark.parametrize("args", [None, [], "x", 3])
def test_arguments_must_be_an_object(args: object) -> None:
    assert Validator.of(None).check(args) == ["The arguments must be a JSON object."]


@pytest.mark.parametrize("args", [nested(MAX_DEPTH + 1), nested(100_000), {"a": list(range(100_001))}])
def test_arguments_are_bounded_in_depth_and_number(args: object) -> None:
    assert len(Validator.of({}).check(args)) == 1


@pytest.mark.parametrize("args", [{1: 2}, {"a": object()}])
def test_arguments_that_are_not_json_are_reported(args: object) -> None:
    assert check({"properties": {"a": {"type": "null"}}}, args)[0].startswith("The arguments must be JSON")


def doubling(levels: int) -> dict[str, Any]:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**twice, f"d{levels}": {"type": "object"}}}


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        (doubling(60), {}),
        ({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}, nested(60)),
        (
            {"$ref": "#/$defs/0", "$defs": {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(2000)} | {"2000": {}}},
            {},
        ),
        ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, {}),
    ],
)
def test_a_schema_that_would_take_hours_is_not_applied(schema: dict[str, Any], args: object) -> None:
    assert check(schema, args) == []


def test_a_schema_that_doubles_moderately_is_applied() -> None:
    assert check({**doubling(8), "required": ["x"]}, {}) == [
        "The arguments object needs the field `x`, which is missing."
    ]


def test_a_pattern_with_catastrophic_backtracking_is_given_up() -> None:
    assert field({"pattern": r"^(?:(?=a)a|(?=a)aa)*c(x)?\1?$|(?=a)a+b$"}, "a" * 30 + "b") == []


def test_a_schema_is_validated_by_the_draft_it_names() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"f": {"items": [{"type": "null"}]}}}

    assert check(schema, {"f": [1]}) == ["`f[0]` must be null; it is the number 1."]


@given(SCHEMAS, st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_every_schema_yields_a_few_short_errors(schema: dict[str, Any], args: dict[str, Any]) -> None:
    sentences = check(schema, args)

    assert len(sentences) <= MAX_ERRORS + 1
    assert all(re.fullmatch(r".+[.…]", sentence) and len(sentence) <= MAX_SENTENCE for sentence in sentences)
