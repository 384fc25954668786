import re

from integrations import services
from integrations.hubspot.client import VERSION
from integrations.hubspot.tools import TOOLS

LONGEST_DESCRIPTION = 900


def test_the_manifest_lists_every_tool() -> None:
    texts = [(tool.name, tool.writes) for tool in services()["hubspot"].tools]

    assert texts == [(tool.name, tool.writes) for tool in TOOLS]
    assert len(texts) == 12


def test_every_path_uses_one_dated_api_version() -> None:
    hubspot = services()["hubspot"]
    assert hubspot.oauth
    assert hubspot.oauth.revoke
    assert hubspot.probe
    urls = f"{hubspot.oauth.token_url} {hubspot.oauth.revoke.url} {hubspot.probe.path}"

    assert re.findall(r"/(\d{4}-\d{2}|v\d)/", urls) == [VERSION] * 3


def test_descriptions_are_short_enough_for_every_client() -> None:
    assert [tool.name for tool in TOOLS if not 100 < len(tool.description) <= LONGEST_DESCRIPTION] == []


def test_no_tool_writes() -> None:
    assert all(tool.mcp_definition["annotations"]["readOnlyHint"] for tool in TOOLS)
