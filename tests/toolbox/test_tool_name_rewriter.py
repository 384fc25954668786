"""Texts of a service's tools call its tools by the names that this agent knows."""

from __future__ import annotations

import pytest

from api.toolbox.mentions import ToolNameRewriter

MENTIONS = ToolNameRewriter(["posthog_get", "posthog_get_insight", "posthog_list_projects"])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Call posthog_get_insight.", "Call posthog_get_insight_acme."),
        ("posthog_get, posthog_list_projects", "posthog_get_acme, posthog_list_projects_acme"),
        ("`posthog_get` reads it", "`posthog_get_acme` reads it"),
        ("posthog_get_cohort and my_posthog_get", "posthog_get_cohort and my_posthog_get"),
        ("posthog_get_insight_acme", "posthog_get_insight_acme"),
    ],
)
def test_each_whole_name_is_given_its_end(text: str, named: str) -> None:
    assert MENTIONS.named(text, "acme") == named


def test_each_text_of_a_schema_is_looked_through() -> None:
    schema = {"description": "First,\nposthog_get.", "properties": {"of": {"enum": ["posthog_get", 1]}}, "minimum": 0}

    assert MENTIONS.named_in(schema, "acme") == {
        "description": "First,\nposthog_get_acme.",
        "properties": {"of": {"enum": ["posthog_get_acme", 1]}},
        "minimum": 0,
    }


def test_among_a_vendors_data_only_quoted_names_are_ours() -> None:
    text = "An insight called posthog_get. More: `posthog_get` reads it."

    assert MENTIONS.named(text, "acme", quoted=True) == (
        "An insight called posthog_get. More: `posthog_get_acme` reads it."
    )
