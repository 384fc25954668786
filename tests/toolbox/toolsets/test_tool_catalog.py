"""The catalog of one server's tools: which tool an agent reaches by a name."""

import asyncio
from collections.abc import Awaitable, Callable
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit.redaction import REMOVED, Redactor
from api.toolbox.listing.client_formats import as_mcp, render
from api.toolbox.listing.tool_list import ToolList
from api.toolbox.toolsets.tool_catalog import CatalogTool, ToolCatalog
from integrations import ListedTools
from tests.cpu_time import Measured
from tests.fuzz.stall_inputs import SECRETS
from tests.fuzz.stall_work import slowness


def catalog(*names: str) -> ToolCatalog:
    return asyncio.run(ToolCatalog.of(ListedTools(tuple({"name": name} for name in names)), now=0))


def test_a_tool_that_is_listed_twice_is_one_tool() -> None:
    listed = catalog("read", "write", "read")

    assert [tool.name for tool in listed.tools] == ["read", "write"]
    assert listed.left_out == 1
    assert set(listed.by_alias("docs")) == {"mcp_docs_read", "mcp_docs_write"}


@pytest.mark.requirement("TRS-06")
@given(st.permutations(["a", "b", "c"]))
def test_the_alphabetically_first_tool_keeps_a_shared_name(names: list[str]) -> None:
    tools = {name: CatalogTool({"name": name}) for name in names}
    listed = ToolCatalog(tuple(tools.values()), 0, 0, 0, tools, naming=lambda *_: "mcp_docs_same")

    assert listed.by_alias("docs") == {"mcp_docs_same": tools["a"]}


def test_the_same_tool_has_another_name_in_another_server() -> None:
    listed = catalog("read")

    assert set(listed.by_alias("docs")) == {"mcp_docs_read"}
    assert set(listed.by_alias("wiki")) == {"mcp_wiki_read"}


MANY = [
    {
        "name": f"tool_{number}",
        "description": "Does a thing. " * 20,
        "annotations": {"readOnlyHint": True, "title": "A tool"},
        "inputSchema": {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(5)}},
    }
    for number in range(4_000)
]


async def pieces_of(work: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """The CPU time of the work, and that of its longest piece between two turns of the loop."""
    task = asyncio.ensure_future(work())
    begun = last = process_time()
    longest = 0.0
    while not task.done():
        await asyncio.sleep(0)
        longest, last = max(longest, process_time() - last), process_time()
    return last - begun, longest


async def listing() -> None:
    await ToolCatalog.of(ListedTools(tuple(MANY)), now=0)


async def preparing() -> None:
    await (await ToolCatalog.of(ListedTools(tuple(MANY)), now=0)).prepare()


async def rendering() -> None:
    tools = [CatalogTool(tool).present(str(tool["name"]), "server_1", "docs") for tool in MANY[:40]] * 100
    await render(ToolList(tools, []), as_mcp)


@pytest.mark.parametrize("work", [listing, preparing, rendering])
async def test_other_tasks_run_while_thousands_of_tools_are_worked_on(work: Callable[[], Awaitable[Any]]) -> None:
    whole, longest = await pieces_of(work)

    assert longest < whole / 2


@pytest.mark.requirement("TRS-03")
async def test_a_tool_of_many_strings_with_secrets_leaves_the_event_loop_to_others() -> None:
    secret, longest = SECRETS[0], []
    strings = [secret[-32:]] * 6_000 + [secret]
    listed = {"name": "t", "description": secret, "inputSchema": {"enum": strings}}
    for _ in range(2):
        work = Measured(ToolCatalog.of(ListedTools((listed,)), 0, Redactor(SECRETS)))
        (tool,) = (await work).tools
        assert tool.present("alias", "server_1", "docs").description == REMOVED
        longest.append(work.longest)

    assert min(longest) < 0.03 * slowness()
