"""No schema and no arguments hold the event loop."""

from typing import Any

import pytest

from api.toolbox.json_schema.cost import CostCounter
from api.toolbox.json_schema.error_messages import MAX_SENTENCE
from api.toolbox.json_schema.normalise import normalise
from api.toolbox.json_schema.validation import MAX_NANOSECONDS, WITHOUT_PLACE, Validator
from tests.cpu_time import cpu_seconds
from tests.fuzz.stall_work import slowness

A_MOMENT = 0.25  # seconds of CPU; what is asked here took between half a second and for ever


def chain(levels: int, word: str) -> dict[str, Any]:
    links = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}], word: False} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{levels}": {"properties": {"a": {}}}}}


def branching_chain(levels: int) -> dict[str, Any]:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {**twice["d0"], "unevaluatedProperties": False, "$defs": {**twice, f"d{levels}": {"type": "object"}}}


def nested_alternatives(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(levels):
        schema = {"anyOf": [schema, {"type": "null"}, {"type": "boolean"}]}
    return {"properties": {"a": schema}}


def recursive_choice(options: int) -> dict[str, Any]:
    node = {"properties": {"c": {"items": {"$ref": "#"}}, "v": {"enum": [f"value {n}" for n in range(options)]}}}
    return {**node, "type": "object"}


def tree(depth: int) -> dict[str, Any]:
    args: dict[str, Any] = {"v": "value 1"}
    for _ in range(depth):
        args = {"v": "value 1", "c": [args]}
    return args


def bracketings(items: int) -> list[Any]:
    """Different arrays that a hash of their elements cannot tell apart."""
    made: list[Any] = [[]]
    for number in range(items):
        made.append([made[number // 2], *([[]] * (number % 3))])
    return made


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        (chain(40, "unevaluatedProperties"), {"a": 1}),
        (chain(40, "unevaluatedItems"), {"a": 1}),
        (branching_chain(40), {"a": 1}),
        ({"patternProperties": {f"^(a|a)*{n}$": {} for n in range(50)}}, {f"{'a' * 30}{n}b": 1 for n in range(300)}),
        ({"properties": {"a": {"pattern": "([ab]{1,40}a){1,10}c"}}}, {"a": "ab" * 100_000}),
        ({"properties": {"a": {"items": {"multipleOf": 1e-300}}}}, {"a": [n + 0.5 for n in range(20_000)]}),
        ({"properties": {"a": {"items": {"minimum": 0.5}}}}, {"a": [(n + 1) * 1e-300 for n in range(20_000)]}),
        ({"properties": {"a": {"items": {"enum": [n + 0.5 for n in range(3_000)]}}}}, {"a": [0.25] * 3_000}),
        (recursive_choice(3_500), tree(20)),
        (recursive_choice(3_500), {"c": [{"c": [{"v": "value 1"}]}] * 20}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": bracketings(3_000)}),
        ({"properties": {"a": {"items": {"type": "null"}}}}, {"a": ["x" * 50] * 15_000}),
        (nested_alternatives(40), {"a": "x" * 10_000}),
        ({"propertyNames": {"pattern": "^x$"}}, {f"name{n}": [None] * 5 for n in range(620)}),
        ({"properties": {"a": {"items": {"enum": [f"{n}" * 40 for n in range(1_000)]}}}}, {"a": [0] * 300}),
    ],
    ids=lambda value: f"{str(value)[:40]}",
)
def test_no_validation_takes_longer_than_a_moment(schema: dict[str, Any], args: dict[str, Any]) -> None:
    sentences = Validator.of(schema).check(args)

    assert cpu_seconds(lambda: Validator.of(schema).check(args)) < A_MOMENT * slowness()
    assert all(len(sentence) <= MAX_SENTENCE for sentence in sentences)


@pytest.mark.parametrize("known", [3_500, 8_000])
def test_unknown_fields_are_compared_with_thousands_of_known_ones_in_a_moment(known: int) -> None:
    fields = {f"the_name_of_field_{number}": {} for number in range(known)}
    schema = {"properties": fields, "additionalProperties": False}
    arguments = {f"the_nome_of_feild_{number}": 1 for number in range(12)}

    assert cpu_seconds(lambda: Validator.of(schema).check(arguments)) < A_MOMENT * slowness()


def references_to_one(alternatives: int, names: int) -> dict[str, Any]:
    required = {"required": [f"name{n}" for n in range(names)]}
    return {"anyOf": [{"$ref": "#/$defs/d"}] * alternatives, "$defs": {"d": required}}


def nested_all_of(levels: int, properties: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for level in range(levels):
        schema = {"allOf": [schema, {"properties": {f"p{n}": {"const": level} for n in range(properties)}}]}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        references_to_one(500, 500),
        references_to_one(4_000, 4_000),
        nested_all_of(45, 100),
        nested_all_of(45, 200),
        {"allOf": [{"properties": {"a": {"enum": list(range(n, n + 30))}}} for n in range(150)]},
        {"anyOf": [{"properties": {f"p{n}": {"const": m} for n in range(10)}} for m in range(150)]},
        chain(40, "unevaluatedProperties"),
        branching_chain(40),
        {"properties": {f"p{n}": {"pattern": r"\p{L}{1,20}" + str(n)} for n in range(50)}},
        {"properties": {f"p{n}": {"pattern": "((((a{0,99}){0,99}){0,99}){0,99}){0,99}" + str(n)} for n in range(50)}},
    ],
    ids=lambda value: f"{str(value)[:40]}",
)
def test_no_schema_takes_longer_than_a_moment_to_be_shown(schema: dict[str, Any]) -> None:
    assert normalise(schema)["type"] == "object"
    assert cpu_seconds(lambda: normalise(schema)) < A_MOMENT * slowness()


def test_many_errors_of_large_constants_are_cut_to_the_first() -> None:
    schema = {"properties": {"a": {"items": {"enum": [f"value-{number}" for number in range(2000)]}}}}

    (sentence,) = Validator.of(schema).check({"a": [f"other-{number}" for number in range(900)]})

    assert sentence.startswith("`a[0]` must be one of")


def test_arguments_that_are_too_large_to_explain_are_refused_without_a_place() -> None:
    schema = {"properties": {"a": {"type": "string"}}}

    assert Validator.of(schema).check({"a": ["x" * 90] * 9_000}) == [WITHOUT_PLACE]


def test_a_large_valid_object_is_validated() -> None:
    row = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}, "required": ["n"]}
    validator = Validator.of({"properties": {"rows": {"items": row}}})

    assert validator.check({"rows": [{"n": n, "s": "x"} for n in range(2_000)]}) == []
    assert validator.check({"rows": [{"n": n, "s": "x"} for n in range(2_000)] + [{}]}) != []


def test_a_text_is_counted_only_where_a_pattern_is_applied_to_it() -> None:
    schema = {"properties": {"path": {"pattern": "^[a-z]+$"}, "content": {"type": "string"}}}

    assert Validator.of(schema).check({"path": "A", "content": "x" * 500_000}) == [
        '`path` must match the pattern "^[a-z]+$"; it is "A".'
    ]


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_each_level_of_unevaluated_properties_multiplies_the_cost(levels: int) -> None:
    below, above = (CostCounter(chain(n, "unevaluatedProperties"), {}).of({"a": 1}) for n in (levels, levels + 1))

    assert above.validation > 2.6 * below.validation
    assert CostCounter(chain(40, "unevaluatedProperties"), {}).of({"a": 1}).validation > MAX_NANOSECONDS


def test_many_conditions_on_one_property_cost_no_walk_over_all_members() -> None:
    conditions = [{"if": {"properties": {"a": {"const": n}}}, "then": {"required": ["b"]}} for n in range(450)]
    validator, args = Validator.of({"allOf": conditions}), {f"f{n}": n for n in range(3000)}

    assert validator.check(args) == []
    assert cpu_seconds(lambda: validator.check(args)) < 0.1 * slowness()
