"""The catalog of one server's tools: which tool an agent reaches by a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.toolbox.toolsets.tool_catalog import CatalogTool, ToolCatalog
from integrations import ListedTools


def catalog(*names: str) -> ToolCatalog:
    return ToolCatalog.of(ListedTools(tuple({"name": name} for name in names)), now=0)


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
