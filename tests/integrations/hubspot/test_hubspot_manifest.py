import re

from integrations import services
from integrations.hubspot.client import VERSION
from integrations.hubspot.tools import TOOLS

LONGEST_DESCRIPTION = 900


def test_the_manifest_lists_every_tool() -> None:
    told = [(each.name, each.writes) for each in services()["hubspot"].tools]

    assert told == [(each.name, each.writes) for each in TOOLS]
    assert len(told) == 12


def test_every_path_uses_one_dated_api_version() -> None:
    hubspot = services()["hubspot"]
    assert hubspot.oauth
    assert hubspot.oauth.revoke
    assert hubspot.probe
    urls = f"{hubspot.oauth.token_url} {hubspot.oauth.revoke.url} {hubspot.probe.path}"

    assert re.findall(r"/(\d{4}-\d{2}|v\d)/", urls) == [VERSION] * 3


def test_descriptions_are_short_enough_for_every_client() -> None:
    assert [each.name for each in TOOLS if not 100 < len(each.description) <= LONGEST_DESCRIPTION] == []


def test_no_tool_writes() -> None:
    assert all(each.mcp_definition["annotations"]["readOnlyHint"] for each in TOOLS)
