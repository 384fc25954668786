from datetime import UTC, datetime, timedelta, timezone

import pytest

from integrations.times import Ago, in_utc, parse_ago


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("7d", Ago(7, "day")),
        ("-24h", Ago(24, "hour")),
        (" 30 Minutes ago ", Ago(30, "minute")),
        ("2mo", Ago(2, "month")),
        ("1 yr", Ago(1, "year")),
        ("an hour ago", Ago(1, "hour")),
        ("a week", Ago(1, "week")),
        ("one day ago", Ago(1, "day")),
        ("5m", Ago(5, None)),
        ("5 parsecs", None),
        ("12345d", None),
        ("aday", None),
        ("2026-11-18", None),
        ("d", None),
        ("", None),
    ],
)
def test_a_relative_time_is_parsed_in_every_form(text: str, ago: Ago | None) -> None:
    assert parse_ago(text) == ago


def test_a_time_without_a_zone_is_utc() -> None:
    moment = datetime(2026, 11, 18, 9, tzinfo=None)  # noqa: DTZ001  that is the case
    elsewhere = datetime(2026, 11, 18, 9, tzinfo=timezone(timedelta(hours=2)))

    assert in_utc(moment) == datetime(2026, 11, 18, 9, tzinfo=UTC)
    assert in_utc(elsewhere) is elsewhere
