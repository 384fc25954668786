import pytest

from integrations.posthog.parsing import AMBIGUOUS_M, AMBIGUOUS_WEEK, INVALID_VALUE, posthog_notation, span


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("7d", "-7d"),
        ("-24h", "-24h"),
        ("30min", "-30M"),
        ("30 minutes ago", "-30M"),
        ("2mo", "-2m"),
        ("1 year", "-1y"),
        ("a week ago", "-1w"),
        ("An hour ago", "-1h"),
        ("ALL", "all"),
        ("today", "dStart"),
        ("Yesterday", "-1dStart"),
        ("2026-11-01", "2026-11-01"),
        ("2026-11-01T09:00:00+01:00", "2026-11-01T09:00:00+01:00"),
    ],
)
def test_a_time_is_converted_for_posthog(value: str, sent: str) -> None:
    assert posthog_notation(value) == sent


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("30m", AMBIGUOUS_M),
        ("30M", AMBIGUOUS_M),
        ("60s", INVALID_VALUE),
        ("a m ago", AMBIGUOUS_M),
        ("last week", AMBIGUOUS_WEEK),
        ("This week", AMBIGUOUS_WEEK),
        ("soon", INVALID_VALUE),
        ("2026-11-31", INVALID_VALUE),
        ("9999-12-31T23:59:59", INVALID_VALUE),
    ],
)
def test_an_ambiguous_time_is_refused(value: str, why: str) -> None:
    with pytest.raises(ValueError, match=why[:30]):
        posthog_notation(value)


@pytest.mark.parametrize(
    ("after", "before", "text"),
    [
        ("-7d", None, "in the last 7 days"),
        ("-1h", None, "in the last hour"),
        ("all", None, "ever"),
        ("2026-11-01", None, "since 2026-11-01"),
        ("dStart", None, "since the beginning of today"),
        ("all", "-2w", "from the first until 2 weeks ago"),
        ("2026-11-01", "2026-11-17T00:00:00Z", "from 2026-11-01 until 2026-11-17 00:00 UTC"),
    ],
)
def test_a_time_range_is_described_in_words(after: str, before: str | None, text: str) -> None:
    assert span(after, before) == text
