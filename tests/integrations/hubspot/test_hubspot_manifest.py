import re

from integrations import services
from integrations.hubspot.client import VERSION
from integrations.hubspot.tools import TOOLS

LONGEST_DESCRIPTION = 900


def test_the_manifest_lists_the_tools_that_there_are() -> None:
    told = [(each.name, each.writes) for each in services()["hubspot"].tools]

    assert told == [(each.name, each.writes) for each in TOOLS]
    assert len(told) == 12


def test_one_dated_version_is_spoken_everywhere() -> None:
    hubspot = services()["hubspot"]
    assert hubspot.oauth
    assert hubspot.oauth.revoke
    assert hubspot.probe
    urls = f"{hubspot.oauth.token_url} {hubspot.oauth.revoke.url} {hubspot.probe.path}"

    assert re.findall(r"/(\d{4}-\d{2}|v\d)/", urls) == [VERSION] * 3


def test_descriptions_are_short_enough_to_be_passed_on_whole() -> None:
    assert [each.name for each in TOOLS if not 100 < len(each.description) <= LONGEST_DESCRIPTION] == []


def test_no_tool_writes() -> None:
    assert all(each.mcp_definition["annotations"]["readOnlyHint"] for each in TOOLS)
