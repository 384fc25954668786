from integrations import services
from integrations.posthog.tools import TOOLS

LONGEST_DESCRIPTION = 900
POSTHOG = services()["posthog"]


def test_the_manifest_lists_every_tool() -> None:
    told = [(each.name, each.writes) for each in POSTHOG.tools]

    assert told == [(each.name, each.writes) for each in TOOLS]
    assert len(told) == 22


def test_descriptions_are_short_enough_for_every_client() -> None:
    assert [each.name for each in TOOLS if not 200 < len(each.description) <= LONGEST_DESCRIPTION] == []


def test_no_tool_writes() -> None:
    assert all(each.mcp_definition["annotations"]["readOnlyHint"] for each in TOOLS)


def test_the_main_parameter_is_listed_before_project_and_paging() -> None:
    shown = {each.name: list(each.mcp_definition["inputSchema"]["properties"]) for each in TOOLS}

    assert shown["posthog_list_feature_flags"][0] == "search"
    assert shown["posthog_list_feature_flags"][-4:] == ["projectId", "limit", "offset", "full"]
    assert shown["posthog_query"][0] == "query"
