import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.toolbox.json_schema.flatten import ELSEWHERE
from api.toolbox.json_schema.normalise import MAX_BYTES, TOO_DEEP, normalise
from api.toolbox.listing.client_formats import as_anthropic, as_mcp, as_openai
from api.toolbox.toolsets.tool_catalog import Tool

EMPTY = {"type": "object", "properties": {}}
REFUSED_AT_THE_TOP = {"oneOf", "anyOf", "allOf", "enum", "const", "not", "$ref", "$schema", "$id"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
WORDS = [
    "type", "properties", "items", "required", "enum", "allOf", "anyOf", "oneOf", "$ref", "$defs", "pattern", "minimum",
    "exclusiveMinimum", "minLength", "multipleOf", "description", "not", "if", "$dynamicRef", "$anchor", "dependencies",
    "dependentRequired", "format", "uniqueItems", "examples", "default", "x-ours", "$schema", "$id", "const",
]  # fmt: skip
VALUES = JSON | st.sampled_from(["#", "object", "#/$defs/a", ["a"], "https://x.example/y", True])
SCHEMAS = st.recursive(
    st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4),
    lambda inner: st.dictionaries(
        st.sampled_from(WORDS),
        VALUES | inner | st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        max_size=4,
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("schema", [None, {}, True, False, [], "object", 3, {"type": "string"}, {"type": ["object"]}])
def test_every_schema_becomes_an_object(schema: object) -> None:
    assert normalise(schema) == EMPTY


def test_a_plain_schema_is_unchanged() -> None:
    schema = {
        "type": "object",
        "title": "Forecast",
        "properties": {
            "city": {"type": ["string", "null"], "description": "Where", "minLength": 1, "default": None},
            "days": {"type": "array", "items": {"type": "integer", "minimum": 1}, "x-unit": "d"},
            "mode": {"oneOf": [{"const": "a"}, {"$ref": "#/$defs/mode"}]},
        },
        "$defs": {"mode": {"enum": ["b", "c"]}},
        "required": ["city"],
        "additionalProperties": False,
    }

    assert normalise(schema) == schema


def test_a_schema_that_refers_to_itself_is_unchanged() -> None:
    schema = {"type": "object", "properties": {"child": {"$ref": "#"}}}

    assert normalise(schema) == schema


@pytest.mark.parametrize(
    "reference",
    ["https://example.org/s.json", "file:///etc/passwd", "other.json#/x", "#/$defs/none", "#/required/7", "#name", 3],
)
@pytest.mark.parametrize("word", ["$ref", "$dynamicRef"])
def test_an_external_reference_becomes_any_value_with_a_note(word: str, reference: object) -> None:
    schema = {"type": "object", "properties": {"a": {word: reference, "description": "An a."}}, "required": ["a"]}

    assert normalise(schema)["properties"] == {"a": {"description": f"An a.\n{ELSEWHERE}"}}


def test_an_external_reference_at_the_top_becomes_any_value() -> None:
    assert normalise({"$ref": "https://example.org/s.json"}) == EMPTY | {"description": ELSEWHERE}


def test_references_resolve_escaped_names_and_list_indexes() -> None:
    schema = {"type": "object", "properties": {"a/b": {}, "c": {"$ref": "#/properties/a~1b"}}, "anyOf": []}

    assert normalise(schema)["properties"]["c"] == {"$ref": "#/properties/a~1b"}


def test_alternatives_at_the_top_are_merged_and_described() -> None:
    schema = {
        "oneOf": [
            {"properties": {"id": {"type": "string"}, "by": {"type": "string"}}, "required": ["by", "id"]},
            {"$ref": "#/$defs/named"},
        ],
        "$defs": {"named": {"properties": {"name": {}, "by": {"type": "integer"}}, "required": ["name", "by"]}},
    }

    schema_ = normalise(schema)

    assert schema_["properties"] == {
        "id": {"type": "string"},
        "by": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "name": {},
    }
    assert schema_["required"] == ["by"]
    assert schema_["description"] == "Give exactly one of: by, id; or name, by."


def test_alternatives_that_only_require_keep_the_properties() -> None:
    schema = {
        "type": "object",
        "description": "Look up.",
        "properties": {"a": {}, "b": {}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}, {}],
    }

    schema_ = normalise(schema)

    assert schema_["properties"] == {"a": {}, "b": {}}
    assert schema_["description"] == "Look up.\nGive at least one of: a; or b; or none of these."


def test_allof_at_the_top_is_merged() -> None:
    schema = {
        "properties": {"a": {"type": "string"}},
        "allOf": [
            {"properties": {"a": {"minLength": 1}}, "required": ["a"]},
            {"properties": {"b": {}}, "required": ["b"], "allOf": [{"properties": {"c": {}}}]},
        ],
    }

    schema_ = normalise(schema)

    assert schema_["properties"] == {"a": {"allOf": [{"type": "string"}, {"minLength": 1}]}, "b": {}, "c": {}}
    assert schema_["required"] == ["a", "b"]


def test_chained_references_at_the_top_are_followed() -> None:
    defs = {"a": {"$ref": "#/$defs/b", "required": ["x"]}, "b": {"properties": {"x": {}}, "allOf": [{"title": "B"}]}}

    schema_ = normalise({"$ref": "#/$defs/a", "allOf": [{"title": "A"}], "$defs": defs})

    assert (schema_["properties"], schema_["required"], schema_["title"]) == ({"x": {}}, ["x"], "A")


def test_endless_alternatives_are_cut_off_in_time() -> None:
    layers = {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 20} for n in range(20)}

    schema_ = normalise({"anyOf": [{"$ref": "#/$defs/0"}, {"$ref": "#/$defs/loop"}], "$defs": {**layers, "20": {}}})

    assert schema_["type"] == "object"
    assert not REFUSED_AT_THE_TOP & schema_.keys()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"items": [{"type": "null"}], "additionalItems": False}, {"prefixItems": [{"type": "null"}], "items": False}),
        ({"minimum": 3, "exclusiveMinimum": True}, {"exclusiveMinimum": 3}),
        ({"maximum": 3, "exclusiveMaximum": False}, {"maximum": 3}),
        ({"type": "string", "required": True}, {"type": "string"}),
        ({"type": ["string"]}, {"type": "string"}),
        ({"type": "str"}, {}),
        ({"type": []}, {}),
        ({"enum": []}, {}),
        ({"pattern": "("}, {}),
        ({"pattern": "^a$"}, {"pattern": "^a$"}),
        ({"minLength": -1, "multipleOf": 0, "uniqueItems": "yes", "title": 3, "properties": []}, {}),
        ({"items": 3, "anyOf": {}}, {}),
        ({"additionalProperties": True}, {"additionalProperties": True}),
        ("string", {}),
        (True, True),
        ({"description": "a\U000e0041\u202eb"}, {"description": "ab"}),
    ],
)
def test_keywords_of_older_drafts_are_translated_or_left_out(old: object, new: object) -> None:
    assert normalise({"type": "object", "properties": {"a": old}})["properties"]["a"] == new


def test_a_deep_schema_is_cut_at_a_limit() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}}

    assert TOO_DEEP in json.dumps(normalise(schema))


def test_no_depth_exhausts_the_stack() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"not": schema}

    assert normalise(schema)["type"] == "object"


@pytest.mark.parametrize(("count", "kept"), [(400, 400), (4000, 0), (30_000, 0)])
def test_a_large_schema_becomes_an_outline_or_nothing(count: int, kept: int) -> None:
    properties = {f"p{n}": {"type": "string", "description": "long " * 60} for n in range(count)}

    schema_ = normalise({"type": "object", "properties": properties, "required": ["p1"]})

    assert len(schema_["properties"]) == kept
    assert schema_["description"] == "(Too large to be described in full.)"
    assert len(json.dumps(schema_)) < MAX_BYTES


def test_a_schema_with_lone_surrogates_becomes_any_object() -> None:
    schema_ = normalise({"type": "object", "properties": {"a": {"const": "\ud800"}}})

    assert schema_["properties"] == {}
    assert "could not be read" in schema_["description"]


@settings(max_examples=300)
@given(SCHEMAS)
def test_a_strict_client_accepts_every_result(schema: dict[str, Any]) -> None:
    schema_ = normalise(schema)

    assert schema_["type"] == "object"
    assert isinstance(schema_["properties"], dict)
    assert not REFUSED_AT_THE_TOP & schema_.keys()
    jsonschema_rs.Draft202012Validator(schema_, offline=True)
    assert jsonschema_rs.Draft202012Validator(schema_, offline=True).is_valid(3) is False
    json.dumps(schema_).encode()


TOOL = Tool(
    name="mcp_weather_get",
    title="Get",
    description="Tells the weather.",
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}},
    annotations={"readOnlyHint": True, "title": "Get", "more": [1]},
    server_id="server_1",
    upstream_name="get",
)


def test_mcp_clients_get_the_format_of_the_protocol() -> None:
    assert as_mcp(TOOL) == {
        "name": "mcp_weather_get",
        "title": "Get",
        "description": "Tells the weather.",
        "inputSchema": TOOL.input_schema,
        "annotations": TOOL.annotations,
    }


def test_openai_gets_a_function() -> None:
    assert as_openai(TOOL) == {
        "type": "function",
        "function": {
            "name": "mcp_weather_get",
            "description": "Tells the weather.",
            "parameters": TOOL.input_schema,
        },
    }


def test_anthropic_gets_an_input_schema() -> None:
    assert as_anthropic(TOOL) == {
        "name": "mcp_weather_get",
        "description": "Tells the weather.",
        "input_schema": TOOL.input_schema,
    }


def test_a_tool_without_a_description_has_none() -> None:
    bare = Tool("mcp_a_b", None, None, EMPTY, None, "server_1", "b")

    assert as_mcp(bare) == {"name": "mcp_a_b", "inputSchema": EMPTY}
    assert as_openai(bare) == {"type": "function", "function": {"name": "mcp_a_b", "parameters": EMPTY}}
    assert as_anthropic(bare) == {"name": "mcp_a_b", "input_schema": EMPTY}


@pytest.mark.requirement("TRS-01", "TRS-02")
def test_descriptions_are_clean_and_within_the_vendors_limit() -> None:
    long = Tool("mcp_a_b", None, "Do\u202e it. " * 400, EMPTY, None, "server_1", "b", {"type": "object"})

    assert len(as_openai(long)["function"]["description"]) <= 1024
    assert "\u202e" not in json.dumps([as_mcp(long), as_openai(long), as_anthropic(long)], ensure_ascii=False)
    assert as_mcp(long)["outputSchema"] == {"type": "object"}


def test_an_annotation_that_is_no_boolean_is_left_out() -> None:
    odd = Tool("mcp_a_b", None, None, EMPTY, {"readOnlyHint": "yes", "title": 3, "openWorldHint": False}, "s", "b")

    assert as_mcp(odd)["annotations"] == {"openWorldHint": False}


def test_a_property_whose_name_anthropic_refuses_is_omitted_and_named() -> None:
    schema = {"type": "object", "properties": {"a b": {}, "c": {}}, "required": ["a b", "c"]}
    odd = Tool("mcp_a_b", None, None, schema, None, "server_1", "b")

    assert as_anthropic(odd)["input_schema"] == {
        "type": "object",
        "properties": {"c": {}},
        "required": ["c"],
        "description": "(Not shown, for their names: `a b`.)",
    }
    assert as_openai(odd)["function"]["parameters"] == schema
