import json
import re
from pathlib import Path

import jsonschema_rs
import pytest

from integrations import load_toolkit, services
from integrations.linear.tools import TOOLS

LINEAR = services()["linear"]
README = (Path(__file__).parents[3] / "integrations" / "linear" / "README.md").read_text(encoding="utf-8")
each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def test_the_manifest_lists_the_tools_that_are_there() -> None:
    assert [(tool.name, tool.writes) for tool in LINEAR.tools] == [(tool.name, tool.writes) for tool in TOOLS]


def test_the_toolkit_is_found_by_its_folder() -> None:
    result = load_toolkit(LINEAR)
    assert result is not None
    assert list(result.tools) == [tool.name for tool in TOOLS]


def test_only_the_read_scope_is_requested() -> None:
    assert LINEAR.oauth is not None
    assert LINEAR.oauth.scopes == ("read",)
    assert not any(tool.writes or tool.destroys for tool in TOOLS)


def test_the_readme_lists_every_tool() -> None:
    assert set(re.findall(r"`(linear_[a-z_]+)`", README)) == {tool.name for tool in TOOLS}


@each_tool
def test_a_description_fits_every_client(tool: object) -> None:
    assert len(tool.description) <= 900  # type: ignore[attr-defined]
    assert "nextCursor" in tool.description  # type: ignore[attr-defined]


@each_tool
def test_every_parameter_is_described(tool: object) -> None:
    properties = tool.mcp_definition["inputSchema"]["properties"]  # type: ignore[attr-defined]
    assert [name for name, item in properties.items() if not item.get("description")] == []
    assert [name for name, item in properties.items() if item.get("default", 0) is None or "anyOf" in item] == []


@each_tool
def test_schemas_are_valid_and_do_not_name_code(tool: object) -> None:
    listed = tool.mcp_definition  # type: ignore[attr-defined]
    for schema in (listed["inputSchema"], listed["outputSchema"]):
        jsonschema_rs.validator_for(schema)
        assert "description" not in schema
    assert len(json.dumps(listed["inputSchema"])) < 4000
