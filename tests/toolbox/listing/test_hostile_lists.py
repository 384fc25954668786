import json
import time
from itertools import count
from typing import Any

import pytest

from demo.mcp_servers import McpRequest, McpResponse, PlainServer, result
from tests.toolbox.toolbox_client import ToolboxClient, generic

PATIENCE = 8.0
GOOD = {"name": "good", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
MOST_OF_A_LIST = 5000
FORMATS = ["mcp", "openai", "anthropic"]

Json = dict[str, Any]


def deep(depth: int, inside: object = 0) -> object:
    for _ in range(depth):
        inside = {"properties": {"a": inside}}
    return inside


DOUBLING = {f"x{n}": {"allOf": [{"$ref": f"#/$defs/x{n + 1}"}] * 2} for n in range(40)} | {"x40": {}}
SCHEMAS = {
    "a text": "object",
    "a list": [{"type": "object"}],
    "a number": 1,
    "no type that there is": {"type": "thing"},
    "types that are none": {"type": [1, None, {}]},
    "properties in a list": {"type": "object", "properties": ["a"]},
    "a property that is a text": {"type": "object", "properties": {"a": "string"}},
    "required as a truth": {"type": "object", "required": True},
    "required by numbers": {"type": "object", "required": [1, 2]},
    "a type of its own": {"type": "array", "items": {}},
    "a reference to elsewhere": {"$ref": "http://127.0.0.1:1/schema.json"},
    "a reference to a file": {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
    "a schema of elsewhere": {"$schema": "http://127.0.0.1:1/meta", "$id": "http://127.0.0.1:1/x", "type": "object"},
    "a reference to itself": {"$ref": "#"},
    "references in a circle": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "references that double": {"properties": {"text": {"$ref": "#/$defs/x0"}}, "$defs": DOUBLING},
    "a long reference": {"$ref": "#" + "/a" * 100_000},
    "deep": deep(200),
    "many properties": {"properties": {f"p{n}": {"type": "string"} for n in range(6000)}},
    "a long enum": {"properties": {"text": {"enum": ["x" * 50] * 5000}}},
    "a pattern that is none": {"properties": {"text": {"pattern": "("}}},
    "a pattern that takes for ever": {"properties": {"text": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}},
    "a pattern that is large": {"properties": {"text": {"pattern": "(a{1,999}){1,999}"}}},
    "many patterns": {"properties": {f"p{n}": {"pattern": f"(\\pL{{1,99}}){{1,{n}}}"} for n in range(2000)}},
    "a long pattern": {"properties": {"text": {"pattern": "\\pL" * 50_000}}},
    "patterns as names": {"patternProperties": {f"(\\pL{{1,99}}){{1,{n}}}": {} for n in range(2000)}},
    "numbers past all": {"properties": {"text": {"maxLength": 10**40, "minimum": 1e308, "multipleOf": 0}}},
    "a name of nothing": {"properties": {"": {"type": "string"}}},
    "a name in Thai": {"properties": {"ค้นหา": {"type": "string"}}},
    "a long name": {"properties": {"x" * 10_000: {}}},
    "prototypes": {"properties": {"__proto__": {}, "constructor": {}}},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_an_invalid_schema_costs_no_tool_and_no_time(toolbox: ToolboxClient, schema: object) -> None:
    odd = {"name": "odd", "inputSchema": schema}
    server = toolbox.server(PlainServer([odd, GOOD]))
    agent, begun = toolbox.agent(server), time.monotonic()

    listed = [toolbox.list(agent, form) for form in FORMATS]
    results = [toolbox.call(agent, f"mcp_weather_{name}", {"text": "a" * 60}) for name in ("odd", "good")]

    assert time.monotonic() - begun < PATIENCE
    for item in listed:
        assert len(item["tools"]) == 3
        assert item["unavailable"] == []
    for tool in listed[0]["tools"]:
        assert tool["inputSchema"]["type"] == "object"
        assert "127.0.0.1" not in json.dumps(tool)
    assert results[1]["isError"] is False
    assert results[0].get("error", {"kind": "invalid_arguments"}) == {"kind": "invalid_arguments"}
    assert toolbox.check(server)["status"] == "ok"


ENTRIES = [None, 1, "tool", [], {}, {"name": ""}, {"name": None}, {"name": 7}, {"name": "x" * 5000}, {"title": "x"}]


def test_an_entry_that_is_no_tool_is_left_out(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer([*ENTRIES, GOOD]))  # type: ignore[list-item]

    assert toolbox.names(toolbox.agent(server)) == [generic(server), "mcp_weather_good"]
    assert toolbox.check(server)["toolCount"] == 1
    assert toolbox.check(server)["detail"].startswith("10 of its tools are left out")


@pytest.mark.requirement("TRS-06")
def test_names_that_no_vendor_accepts_get_aliases(toolbox: ToolboxClient) -> None:
    names = ["ค้นหา", "ค้นหาา", "a b", "a.b", "a/b", "a\u200bb", "a\x00b", "a\nb", "x" * 300, "x" * 299 + "y", "é", "🙂"]
    server = toolbox.server(PlainServer([{"name": name, "inputSchema": {}} for name in names]))
    agent = toolbox.agent(server)

    aliases = toolbox.names(agent)[1:]
    requests = [toolbox.call(agent, alias, {})["isError"] for alias in aliases]
    upstream = [tool["upstreamName"] for tool in toolbox.tools_of(server)["tools"]]

    assert len(set(aliases)) == len(names)
    assert all(len(alias) <= 64 and alias.replace("-", "_").isidentifier() and alias.isascii() for alias in aliases)
    assert requests == [False] * len(names)
    assert upstream == names


@pytest.mark.requirement("TRS-06")
def test_each_alias_calls_the_tool_that_it_stands_for(toolbox: ToolboxClient) -> None:
    names = ["a b", "a.b", "ค้นหา", "x" * 300]
    fake = PlainServer([{"name": name} for name in names])
    agent = toolbox.agent(toolbox.server(fake))

    for alias in toolbox.names(agent)[1:]:
        toolbox.call(agent, alias, {})

    assert [request.message["params"]["name"] for request in fake.requests_for("tools/call")] == names


def test_two_tools_with_one_name_become_one(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer([GOOD, GOOD | {"description": "another"}]))

    assert toolbox.names(toolbox.agent(server)) == [generic(server), "mcp_weather_good"]
    assert toolbox.call(toolbox.agent(server), "mcp_weather_good", {"text": "x"})["isError"] is False


@pytest.mark.requirement("TRS-01")
@pytest.mark.parametrize("form", FORMATS)
def test_invisible_text_is_removed(toolbox: ToolboxClient, form: str) -> None:
    hidden = "Says \x1b[31mhi\x1b[0m\u200b\u202e" + "".join(chr(0xE0000 + ord(item)) for item in "obey") + "\x00."
    annotations = {"title": hidden, "more": {"deep": [hidden]}, "readOnlyHint": hidden}
    tool = {"name": "t", "title": hidden, "description": hidden, "annotations": annotations}
    schema = {"properties": {"a": {"type": "string", "description": hidden, "title": hidden}}}
    agent = toolbox.agent(toolbox.server(PlainServer([tool | {"inputSchema": schema}])))

    listed = toolbox.list(agent, form)["tools"][1]
    text = json.dumps(listed, ensure_ascii=False)

    assert "Says hi." in text
    assert text.isascii()
    assert "\\u00" not in text
    assert '"readOnlyHint"' not in text


@pytest.mark.requirement("TRS-01")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("hidden", ["a\u202eb", "a\u200b\u2066b", "a" + "\U000e0041" * 9 + "b", "a\x1b[31mb"])
def test_invisible_text_is_removed_from_values_and_unknown_names(
    toolbox: ToolboxClient, form: str, hidden: str
) -> None:
    part = {"type": "string", "default": hidden, "examples": [hidden, {hidden: [hidden]}], "x-more": {hidden: hidden}}
    properties = {"a": part | {hidden: "dropped", f"read{hidden}Only": True}, "b": {"type": "array", "items": part}}
    schema = {"type": "object", "properties": properties, "$defs": {"c": part}, "x-top": [hidden], hidden: 1}
    tool = {"name": "t", "description": "Says hi.", "annotations": {hidden: True, "more": {hidden: "x"}}}
    agent = toolbox.agent(toolbox.server(PlainServer([tool | {"inputSchema": schema}])))

    listed = toolbox.list(agent, form)["tools"][1]

    text = json.dumps(listed, ensure_ascii=False)
    assert text.isascii()
    assert "\\u00" not in text
    assert "dropped" not in text
    assert '"default": "ab"' in text
    assert '"x-more": {"ab": "ab"}' in text


@pytest.mark.parametrize("form", FORMATS)
def test_what_has_to_be_sent_as_it_is_stays_as_it_is(toolbox: ToolboxClient, form: str) -> None:
    """The server would not recognise it otherwise."""
    family = "\U0001f468\u200d\U0001f469"
    schema = {"type": "object", "properties": {"a": {"enum": [family, "x\u200by"]}, "b": {"const": "x\u200by"}}}
    agent = toolbox.agent(toolbox.server(PlainServer([{"name": "t", "inputSchema": schema}])))

    text = json.dumps(toolbox.list(agent, form)["tools"][1], ensure_ascii=False)

    assert f'{{"enum": ["{family}", "x\u200by"]}}' in text
    assert '{"const": "x\u200by"}' in text


@pytest.mark.parametrize("form", FORMATS)
def test_a_long_description_is_shortened(toolbox: ToolboxClient, form: str) -> None:
    agent = toolbox.agent(toolbox.server(PlainServer([GOOD | {"description": "Says é. " * 10_000}])))

    assert len(json.dumps(toolbox.list(agent, form), ensure_ascii=False)) < 25_000


def test_a_tool_that_is_too_large_is_left_out(toolbox: ToolboxClient) -> None:
    agent = toolbox.agent(toolbox.server(PlainServer([GOOD, {"name": "vast", "description": "vast " * 200_000}])))

    assert toolbox.names(agent)[1:] == ["mcp_weather_good"]


def paged(page: int, cursor: object) -> PlainServer:
    numbers = count()

    def say(request: McpRequest) -> McpResponse:
        tools = [{"name": f"t{next(numbers)}"} for _ in range(page)]
        return result(request, {"tools": tools, "nextCursor": str(next(numbers)) if cursor is None else cursor})

    return PlainServer(None, tools_list=say)


@pytest.mark.parametrize(
    ("fake", "at_most"),
    [
        pytest.param(paged(1, None), 101, id="endless pages"),
        pytest.param(paged(1, "same"), 3, id="a repeated page"),
        pytest.param(paged(0, None), 101, id="endless empty pages"),
        pytest.param(paged(1000, None), 101, id="endless large pages"),
    ],
)
def test_an_endless_list_is_given_up(toolbox: ToolboxClient, fake: PlainServer, at_most: int) -> None:
    server = toolbox.server(fake)
    agent = toolbox.agent(server)

    listed = toolbox.list(agent)

    assert [tool["name"] for tool in listed["tools"]] == [generic(server)]
    assert listed["unavailable"][0]["reason"] == "invalid"
    assert listed["unavailable"][0]["detail"] == "Error calling MCP server: The list of tools does not end."
    assert len(fake.requests_for("tools/list")) <= at_most
    assert toolbox.call(agent, generic(server), {"method": "tools/call", "params": {"name": "t0"}})["isError"] is False


def test_a_list_has_at_most_the_allowed_number_of_tools(toolbox: ToolboxClient) -> None:
    fake = PlainServer([{"name": f"t{number}"} for number in range(MOST_OF_A_LIST)])
    server = toolbox.server(fake)
    agent = toolbox.agent(server)

    assert len(toolbox.list(agent)["tools"]) == MOST_OF_A_LIST + 1
    assert toolbox.call(agent, "mcp_weather_t4999", {})["isError"] is False

    fake.tools.append({"name": "one more"})
    refused = toolbox.tools_of(server, refresh="true")["unavailable"][0]
    assert refused["reason"] == "invalid"
    assert refused["detail"] == "Error calling MCP server: The list has more than 5000 tools."


@pytest.mark.parametrize("tools", [None, {}, "tools", 1])
def test_an_invalid_list_is_reported_as_invalid(toolbox: ToolboxClient, tools: object) -> None:
    fake = PlainServer(None, tools_list=lambda request: result(request, {"tools": tools}))
    server = toolbox.server(fake)

    assert toolbox.check(server)["status"] == "invalid"
    assert toolbox.list(toolbox.agent(server))["unavailable"][0]["detail"].endswith("The tools are not a list.")


@pytest.mark.parametrize("cursor", [7, None, [], {}, True])
def test_an_invalid_cursor_ends_the_list(toolbox: ToolboxClient, cursor: object) -> None:
    fake = PlainServer(None, tools_list=lambda request: result(request, {"tools": [GOOD], "nextCursor": cursor}))

    assert toolbox.names(toolbox.agent(toolbox.server(fake)))[1:] == ["mcp_weather_good"]


@pytest.mark.parametrize("ttl", [-1, 0, 10**30, 1e300, "long", None, True, [1]])
def test_an_invalid_caching_hint_is_ignored(toolbox: ToolboxClient, ttl: object) -> None:
    fake = PlainServer(
        None, tools_list=lambda request: result(request, {"tools": [GOOD], "ttlMs": ttl, "cacheScope": [1]})
    )
    agent = toolbox.agent(toolbox.server(fake))

    assert toolbox.names(agent) == toolbox.names(agent)
    assert toolbox.call(agent, "mcp_weather_good", {"text": "x"})["isError"] is False


def test_a_list_that_changes_every_time_never_calls_the_wrong_tool(toolbox: ToolboxClient) -> None:
    """What is called is looked for in the list as it is now, and never another tool is called instead."""
    numbers = count()

    def say(request: McpRequest) -> McpResponse:
        number = next(numbers)
        return result(request, {"tools": [GOOD, {"name": f"only {number}"}], "ttlMs": 0})

    fake = PlainServer(None, tools_list=say)
    agent = toolbox.agent(toolbox.server(fake))

    first, second = toolbox.names(agent), toolbox.names(agent)
    gone = toolbox.post_call(agent, first[2])
    still = toolbox.call(agent, "mcp_weather_good", {"text": "x"})

    assert first[2] != second[2]
    assert gone.status_code == 404
    assert still["isError"] is False
    assert [request.message["params"]["name"] for request in fake.requests_for("tools/call")] == ["good"]


def test_a_call_is_checked_against_the_current_schema(toolbox: ToolboxClient) -> None:
    fake = PlainServer([GOOD])
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    assert toolbox.call(agent, "mcp_weather_good", {"text": "x"})["isError"] is False

    fake.tools = [{"name": "good", "inputSchema": {"properties": {"text": {"type": "integer"}}}}]
    toolbox.tools_of(server, refresh="true")

    assert toolbox.call(agent, "mcp_weather_good", {"text": "x"})["error"]["kind"] == "invalid_arguments"
    assert toolbox.call(agent, "mcp_weather_good", {"text": 1})["isError"] is False
