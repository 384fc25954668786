import json
from typing import Any

import pytest

from integrations.posthog.tables import table, table_of
from integrations.posthog.truncation import fit, prune

DAYS = ["2026-11-16", "2026-11-17"]


@pytest.mark.parametrize(
    ("results", "columns", "rows"),
    [
        (
            [
                {"label": "a", "data": [1, 2], "days": DAYS, "count": 3, "compare_label": "current"},
                {"label": "a", "data": [4], "days": DAYS[:1], "count": 4, "compare_label": "previous"},
            ],
            ["date", "a (current)", "a (previous)"],
            [["2026-11-16", 1, 4], ["2026-11-17", 2, None], ["total", 3, 4]],
        ),
        ([{"label": "Chrome", "aggregated_value": 7}], ["series", "value"], [["Chrome", 7]]),
        ([{"source": "1_/", "target": "2_/docs", "value": 3}], ["from", "to", "persons"], [["1_/", "2_/docs", 3]]),
        (
            [{"date": "2026-11-01", "values": [{"count": 9}, {"count": 4}]}],
            ["began", "+0", "+1"],
            [["2026-11-01", 9, 4]],
        ),
        (
            [
                [{"name": "seen", "order": 0, "count": 0, "breakdown_value": ["DE"]}],
                [
                    {"name": "seen", "order": 0, "count": 8, "breakdown_value": ["FR"]},
                    {"custom_name": "paid", "order": 1, "count": 2, "breakdown_value": ["FR"]},
                ],
            ],
            ["step", "persons", "of the first", "of the one before", "median seconds to convert"],
            [
                ["1. seen (DE)", 0, "", "", None],
                ["1. seen (FR)", 8, "100.0%", "100.0%", None],
                ["2. paid (FR)", 2, "25.0%", "25.0%", None],
            ],
        ),
        ([], [], []),
    ],
    ids=["trends", "totals", "paths", "retention", "funnel", "nothing"],
)
def test_results_of_every_kind_become_a_table(results: Any, columns: list[str], rows: list[list[Any]]) -> None:
    result = table_of({"results": results})

    assert result
    assert (result.columns, result.rows) == (columns, rows)


@pytest.mark.parametrize("results", [None, 5, {"a": 1}, [{"odd": 1}]])
def test_a_result_that_is_no_table_is_left_unchanged(results: Any) -> None:
    assert table_of({"results": results}) is None


def test_rows_beyond_the_room_are_omitted_and_counted() -> None:
    table_ = table(["text"], [["x" * 150]] * 1000)

    assert 100 < len(table_.rows) < 250
    assert table_.notes() == [
        f"Only the first {len(table_.rows)} of 1000 rows are shown: select fewer columns or fewer rows."
    ]


def test_few_long_values_get_more_room_than_many() -> None:
    few, many = table(["text"], [["x" * 1_500]] * 3), table(["text"], [["x" * 1_500]] * 40)

    assert few.notes() == []
    assert "are cut: select parts" in many.notes()[0]


def test_a_value_is_cut_alike_in_structure_and_text() -> None:
    table_ = table(["text"], [["x" * 1_500]] * 40)

    assert table_.rows[0] == [f"{'x' * 600}… [900 more characters]"]
    assert table_.rows[0][0] in table_.text()


@pytest.mark.parametrize("count", [float("inf"), float("nan"), 10**400])
def test_a_number_that_json_cannot_hold_does_not_hide_the_result(count: float) -> None:
    steps = table_of(
        {"results": [{"name": "seen", "order": 0, "count": 8}, {"name": "paid", "order": 1, "count": count}]}
    )

    assert steps
    assert [row[2] for row in steps.rows] == ["100.0%", ""]
    assert json.loads(json.dumps(steps.rows, allow_nan=False))[1][1] == "a number too large for JSON"


def test_a_bar_in_a_value_is_escaped() -> None:
    assert table(["a", "b"], [["x | y", "line\nbreak"]]).text() == "a | b\nx \\| y | line break"


def test_secrets_in_settings_are_removed_at_any_depth() -> None:
    result, is_cut = fit({"teams": [{"id": 1, "secret_api_token": "phs_canary", "api_token": "phc_1"}]})

    assert result == {"teams": [{"id": 1, "api_token": "phc_1"}]}
    assert is_cut is False


def test_a_large_object_of_any_shape_is_shortened() -> None:
    deep: Any = "x" * 500
    for _ in range(40):
        deep = {"text": "y" * 3_000, "more": [deep] * 2 if _ < 8 else [deep], **{f"name{n}": n for n in range(50)}}
    result, is_cut = fit(deep, 20_000)

    assert is_cut
    assert len(str(result)) < 21_000


def test_a_cut_value_says_how_much_is_missing() -> None:
    assert prune({"a": "x" * 10, "b": [1, 2, 3]}, 4, 2) == {"a": "xxxx… [6 more characters]", "b": [1, 2, "[1 more]"]}
