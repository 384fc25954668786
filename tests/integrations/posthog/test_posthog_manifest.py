from integrations import services
from integrations.posthog.tools import TOOLS

LONGEST_DESCRIPTION = 900
POSTHOG = services()["posthog"]


def test_the_manifest_lists_every_tool() -> None:
    texts = [(tool.name, tool.writes) for tool in POSTHOG.tools]

    assert texts == [(tool.name, tool.writes) for tool in TOOLS]
    assert len(texts) == 22


def test_descriptions_are_short_enough_for_every_client() -> None:
    assert [tool.name for tool in TOOLS if not 200 < len(tool.description) <= LONGEST_DESCRIPTION] == []


def test_no_tool_writes() -> None:
    assert all(tool.mcp_definition["annotations"]["readOnlyHint"] for tool in TOOLS)


def test_the_main_parameter_is_listed_before_project_and_paging() -> None:
    shown = {tool.name: list(tool.mcp_definition["inputSchema"]["properties"]) for tool in TOOLS}

    assert shown["posthog_list_feature_flags"][0] == "search"
    assert shown["posthog_list_feature_flags"][-4:] == ["projectId", "limit", "offset", "full"]
    assert shown["posthog_query"][0] == "query"
