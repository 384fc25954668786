from datetime import UTC, datetime

import pytest

from integrations.slack.timestamps import read_beginning, read_end, resolve

NOW = datetime(2025, 11, 17, 9, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2025-11-17T09:31:00Z", "1763371860.000000"),
        ("2025-11-17T10:31:00+01:00", "1763371860.000000"),
        ("2025-11-17T09:31:00.123459Z", "1763371860.123459"),
        ("2025-11-17T09:31:00", "1763371860.000000"),
        ("1763371860", "1763371860.000000"),
        (1763371860, "1763371860.000000"),
        ("1763371860000", "1763371860.000000"),
        (1763371860000, "1763371860.000000"),
        ("1763371860.000200", "1763371860.000200"),
        ("2000-01-01T00:00:00Z", "0946684800.000000"),
        ("946684800", "0946684800.000000"),
        ("0001-01-01T00:00:00Z", "0000000000.000000"),
        ("9999-12-31T23:59:59Z", "9999999999.000000"),
        (0, "0000000000.000000"),
        ("0", "0000000000.000000"),
    ],
)
def test_a_time_is_parsed_in_every_form(value: object, expected: str) -> None:
    assert read_beginning(value) == read_end(value) == expected


def test_a_day_means_the_whole_day() -> None:
    assert read_beginning("2025-11-17") == "1763337600.000000"
    assert read_beginning("20251117") == "1763337600.000000"
    assert read_end("20251117") == read_end("2025-11-17") == "1763423999.999999"
    assert read_end("9999-12-31") == "9999999999.999999"


@pytest.mark.parametrize(
    ("value", "begins", "ends"),
    [
        ("7d", "2025-11-10T09:31:00", None),
        ("-7d", "2025-11-10T09:31:00", None),
        ("2 Weeks ago", "2025-11-03T09:31:00", None),
        ("a week ago", "2025-11-10T09:31:00", None),
        ("an hour ago", "2025-11-17T08:31:00", None),
        ("36h", "2025-11-15T21:31:00", None),
        ("90min", "2025-11-17T08:01:00", None),
        ("9999w", "0001-01-01", None),
        ("now", "2025-11-17T09:31:00", None),
        ("today", "2025-11-17", "2025-11-17"),
        ("Yesterday", "2025-11-16", "2025-11-16"),
    ],
)
def test_a_time_may_be_relative_to_now(value: str, begins: str, ends: str | None) -> None:
    assert resolve(str(read_beginning(value)), NOW, ends=False) == read_beginning(begins)
    assert resolve(str(read_end(value)), NOW, ends=True) == read_end(ends or begins)


def test_an_absolute_time_is_unchanged() -> None:
    assert resolve("1763371860.000200", NOW, ends=True) == "1763371860.000200"


@pytest.mark.parametrize(
    "value", ["last one", "", "17.11.2025", "1e99", "2026-W47", "7m", float("nan"), float("inf"), 10**400, 12, -5]
)
def test_an_invalid_time_is_refused(value: object) -> None:
    for read in (read_beginning, read_end):
        with pytest.raises(ValueError, match="must be a date such as 2026-01-31"):
            read(value)


@pytest.mark.parametrize("value", [True, ["1763371860.000200"], {}])
def test_other_types_are_left_to_the_schema(value: object) -> None:
    assert read_beginning(value) is value
