import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit.ids import new_id
from api.servers.slugs import RESERVED, SLUG_PATTERN, is_reserved
from api.toolbox.tool_names import NAME_PATTERN, ToolNameRewriter, generic_name, service_tool_name, tool_name

LEGAL = re.compile(NAME_PATTERN)
ANY_TEXT = st.text(max_size=300) | st.text(alphabet="ab._-/ ", max_size=80)
SLUGS = st.from_regex(SLUG_PATTERN, fullmatch=True).filter(lambda slug: slug.isascii() and not is_reserved(slug))
LONG = "x" * 300


def test_a_plain_name_is_unchanged() -> None:
    assert tool_name("weather-api", "get_forecast") == "mcp_weather-api_get_forecast"


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [
        ("files.read", r"mcp_docs_files_read__[a-z2-7]{8}"),
        ("", r"mcp_docs___[a-z2-7]{8}"),
        ("ค้นหา", r"mcp_docs______[a-z2-7]{8}|mcp_docs_____+[a-z2-7]{8}"),
        ("🔥", r"mcp_docs____[a-z2-7]{8}"),
        ("\ud800", r"mcp_docs____[a-z2-7]{8}"),
        ("name\n", r"mcp_docs_name___[a-z2-7]{8}"),
        (LONG, r"mcp_docs_x{45}__[a-z2-7]{8}"),
    ],
)
def test_a_name_that_no_vendor_accepts_is_altered_and_ends_with_a_hash(upstream: str, expected: str) -> None:
    name = tool_name("docs", upstream)

    assert re.fullmatch(expected, name)
    assert LEGAL.fullmatch(name)


def test_a_name_is_stable() -> None:
    assert tool_name("docs", "files.read") == "mcp_docs_files_read__mape5nqi"


def test_names_that_differ_only_in_altered_characters_stay_distinct() -> None:
    alike = ["a.b", "a/b", "a b", "a_b", "a-b", "", " ", "_", LONG, LONG + "x", LONG[:-1] + "y", "ก", "ข", "🔥", "🧊"]

    assert len({tool_name("docs", item) for item in alike}) == len(alike)


@pytest.mark.requirement("TRS-06")
def test_an_upstream_cannot_give_a_tool_the_altered_name_of_another() -> None:
    altered = tool_name("docs", "files.read")
    posing = altered.removeprefix("mcp_docs_")

    assert tool_name("docs", posing) != altered


@given(SLUGS, ANY_TEXT)
def test_every_name_is_legal(slug: str, upstream: str) -> None:
    assert LEGAL.fullmatch(tool_name(slug, upstream))


@pytest.mark.requirement("TRS-06")
@given(st.sets(st.tuples(SLUGS, ANY_TEXT), max_size=40))
def test_no_two_tools_have_one_name(tools: set[tuple[str, str]]) -> None:
    assert len({tool_name(*tool) for tool in tools}) == len(tools)


@pytest.mark.requirement("TRS-06")
@given(SLUGS, ANY_TEXT)
def test_no_tool_has_the_name_of_a_generic_tool(slug: str, upstream: str) -> None:
    assert not tool_name(slug, upstream).startswith("mcp_server_")


def test_a_generic_tool_is_named_after_its_server() -> None:
    assert generic_name("server_123") == "mcp_server_123"
    assert LEGAL.fullmatch(generic_name(new_id("server", "ws_1", 1.0)))


@pytest.mark.parametrize("server_id", ["", "agent_1", "server_", "server_A", "server_1\n", "server_" + "1" * 60])
def test_an_invalid_server_id_has_no_generic_tool(server_id: str) -> None:
    with pytest.raises(ValueError, match="not the id of a server"):
        generic_name(server_id)


@pytest.mark.parametrize("slug", ["", "a_b", "A", "a" * 25, "a\n", RESERVED, f"{RESERVED}-1"])
def test_an_invalid_slug_names_no_tool(slug: str) -> None:
    with pytest.raises(ValueError, match="not a slug"):
        tool_name(slug, "read")


@given(st.text(alphabet="server-x1_", max_size=26))
def test_slugs_of_tools_and_of_servers_have_one_format(slug: str) -> None:
    legal = re.fullmatch(SLUG_PATTERN, slug) is not None and not is_reserved(slug)
    try:
        tool_name(slug, "read")
    except ValueError:
        assert not legal
    else:
        assert legal


def test_a_services_tool_ends_with_the_slug() -> None:
    assert service_tool_name("notion_read", "acme") == "notion_read_acme"


@pytest.mark.requirement("TRS-06")
@pytest.mark.parametrize("base", ["", "mcp", "mcp_x", "a.b", "x" * 60])
def test_a_services_tool_cannot_look_like_a_servers_tool(base: str) -> None:
    with pytest.raises(ValueError, match="no name for a service's tool"):
        service_tool_name(base, "acme")


def test_tools_of_services_never_collide() -> None:
    named = [service_tool_name(*item) for item in product(["notion", "notion_read", "notion_read_page"], ["a", "read"])]

    assert len(set(named)) == len(named)


REWRITER = ToolNameRewriter(["posthog_get", "posthog_get_insight", "posthog_list_projects"])


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("Call posthog_get_insight.", "Call posthog_get_insight_acme."),
        ("posthog_get, posthog_list_projects", "posthog_get_acme, posthog_list_projects_acme"),
        ("`posthog_get` reads it", "`posthog_get_acme` reads it"),
        ("posthog_get_cohort and my_posthog_get", "posthog_get_cohort and my_posthog_get"),
        ("posthog_get_insight_acme", "posthog_get_insight_acme"),
    ],
)
def test_each_whole_name_gets_the_slug(text: str, rewritten: str) -> None:
    assert REWRITER.rewrite(text, "acme") == rewritten


def test_each_text_of_a_schema_is_rewritten() -> None:
    schema = {"description": "First,\nposthog_get.", "properties": {"of": {"enum": ["posthog_get", 1]}}, "minimum": 0}

    assert REWRITER.rewrite_in(schema, "acme") == {
        "description": "First,\nposthog_get_acme.",
        "properties": {"of": {"enum": ["posthog_get_acme", 1]}},
        "minimum": 0,
    }


def test_in_text_with_data_of_the_service_only_quoted_names_are_rewritten() -> None:
    text = "An insight called posthog_get. More: `posthog_get` reads it."

    assert REWRITER.rewrite(text, "acme", quoted=True) == (
        "An insight called posthog_get. More: `posthog_get_acme` reads it."
    )
