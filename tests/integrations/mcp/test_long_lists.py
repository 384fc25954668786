"""Lists and messages of servers that are made to hold the event loop."""

import gc
import tracemalloc
from time import thread_time
from typing import Any

import msgspec
import pytest

from demo.mcp_servers import MODERN, ModernServer
from integrations.errors import UnreadableResponse
from integrations.mcp import Era
from integrations.mcp.header_mirroring import MAX_PARTS, BadAnnotation, annotated_paths, argument_headers
from integrations.mcp.jsonrpc import parse_messages
from tests.cpu_time import cpu_seconds, longest_turn
from tests.fakes.plain_http import client_of
from tests.fuzz.stall_work import REFERENCE_SECONDS, slowness

ERA = Era("modern", MODERN)
LONGEST_TURN = 0.05
"""Of CPU, as `tests/fuzz` allows."""
MANY_ITEMS: dict[str, list[Any]] = {
    "scalars": [0] * 240_000,
    "containers": [{}] * 60_000,
    "too large": [0] * 255_000,
    "strings": ["[[,"] * 60_000,
}


def tool(name: str, items: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": {"a": items}}}


@pytest.mark.parametrize("items", MANY_ITEMS.values(), ids=MANY_ITEMS)
@pytest.mark.parametrize("mark", [None, "x-mcp-header"])
async def test_a_tool_with_very_many_values_holds_nothing_up(items: list[Any], mark: str | None) -> None:
    async with client_of(ModernServer([tool("a", [*items, mark])]), ERA) as client:
        await client.list_tools()
        turns = [await longest_turn(client.list_tools()) for _ in range(3)]

    assert min(turns) < LONGEST_TURN * slowness()


async def test_a_long_list_of_annotated_tools_holds_nothing_up() -> None:
    parts = {f"p{number}": {"type": "string", "x": 1} for number in range(14)}
    annotated = {"h": {"type": "string", "x-mcp-header": "H"}}
    tools = [tool(f"t{number}", {"properties": parts | annotated}) for number in range(2000)]

    async with client_of(
        ModernServer([{**a, "inputSchema": a["inputSchema"]["properties"]["a"]} for a in tools]), ERA
    ) as client:
        assert len((await client.list_tools()).paths) == 2000
        turns = [await longest_turn(client.list_tools()) for _ in range(3)]

    assert min(turns) < LONGEST_TURN * slowness()


def test_an_annotated_schema_has_a_limit_of_values() -> None:
    good = {"type": "string", "x-mcp-header": "A"}

    assert annotated_paths({"properties": {"a": good}, "items": [0] * (MAX_PARTS - 100)}) == {"A": ("a",)}
    with pytest.raises(BadAnnotation, match="more than 10000 values"):
        annotated_paths({"properties": {"a": good}, "items": [0] * MAX_PARTS})


def test_arguments_in_headers_are_not_kept() -> None:
    paths = {"A": ("a",)}
    argument_headers(paths, {"a": "warm"})
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(60):
            argument_headers(paths, {"a": f"{number}".rjust(8_000, "x")})
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 100_000


def test_strings_that_look_like_many_values_are_counted_in_little_time() -> None:
    message = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": ["[[,"] * 250_000})
    seconds = []
    for _ in range(4):
        begun = thread_time()
        with pytest.raises(UnreadableResponse, match="more values"):
            parse_messages(message)
        seconds.append(thread_time() - begun)

    assert min(seconds) < 3 * REFERENCE_SECONDS * slowness()


@pytest.mark.parametrize("number", ["1e300", "1E+0300", "-2e-320", "1e23", "9007199254740993.0"])
@pytest.mark.parametrize("length", [100_000, 300_000, 4_000_000])
def test_numbers_that_are_hard_to_convert_hold_nothing_up(number: str, length: int) -> None:
    numbers = ",".join([number] * (length // (len(number) + 1)))
    message = f'{{"jsonrpc": "2.0", "id": 1, "result": [{numbers}]}}'.encode()

    def parse() -> None:
        try:
            (response,) = parse_messages(message)
        except UnreadableResponse as error:
            assert "more values" in str(error) and length > 100_000  # noqa: PT017, PT018
        else:
            assert response.result[-1] == float(number)  # type: ignore[index, union-attr]

    assert cpu_seconds(parse) < LONGEST_TURN * slowness()


@pytest.mark.parametrize("number", ["1e999", "-1e400"])
@pytest.mark.parametrize("count", [1, 2_000])
def test_a_number_that_no_float_holds_is_refused(number: str, count: int) -> None:
    numbers = ",".join([*["1e-30"] * count, number])

    with pytest.raises(UnreadableResponse, match="not JSON"):
        parse_messages(f'{{"jsonrpc": "2.0", "id": 1, "result": [{numbers}]}}'.encode())


def test_texts_that_look_like_numbers_do_not_count_as_such() -> None:
    ids = [f"{number:08x}e123" for number in range(70_000)]
    message = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": ids})

    assert parse_messages(message)[0].result == ids  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["[[,{" * 100_000, '\\"[,' * 100_000, "\\" * 99_999 + '"[[[' * 100_000])
def test_a_long_text_of_commas_and_brackets_is_no_value(text: str) -> None:
    message = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": {"text": [text, text], "[": "]"}})

    (response,) = parse_messages(message)

    assert response.result["text"] == [text, text]  # type: ignore[union-attr]
