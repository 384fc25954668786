import re
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.servers.slugs import MAX_SLUG, NOTHING_LEFT, SLUG_PATTERN, is_reserved, slug_candidates, slug_of

LEGAL = re.compile(SLUG_PATTERN)

SLUGS = {
    "Weather API": "weather-api",
    "  Weather -- API!  ": "weather-api",
    "weather_api v2.1": "weather-api-v2-1",
    "ÀÉÎÕÜ Æsir Straße": "aeiou-aesir-strasse",
    "Łódź Żółć": "lodz-zolc",
    "Погода Москва": "pogoda-moskva",
    "Καιρός": "kairos",
    "天気": "tianqi",
    "날씨": "nalssi",
    "てんき": "tenki",
    "मौसम": "mausm",
    "طقس": "tqs",
    "İSTANBUL": "istanbul",
    "\uff37\uff29\uff24\uff25 \uff11": "wide-1",
    "№ 5": "no-5",
    "a" * 100: "a" * 24,
    "one two three four five six": "one-two-three-four-five",
    "1": "1",
    "!!!": "mcp",
    "———": "mcp",
    "\u200b": "mcp",
    "Server": "mcp-server",
    "server-7": "mcp-server-7",
    "SERVER of the weather bureau": "mcp-server-of-the-weathe",
    "servers": "servers",
    "my server": "my-server",
}


@pytest.mark.parametrize(("name", "slug"), SLUGS.items())
def test_a_slug_is_derived_from_a_name(name: str, slug: str) -> None:
    assert slug_of(name) == slug


@given(st.text(min_size=1, max_size=100))
def test_every_name_yields_a_valid_slug(name: str) -> None:
    slug = slug_of(name)

    assert LEGAL.fullmatch(slug)
    assert len(slug) <= MAX_SLUG
    assert not is_reserved(slug)


@given(
    st.sampled_from(["server", "Server-", "SERVER_1", "\uff53\uff45\uff52\uff56\uff45\uff52", "-server-"]),
    st.text(max_size=40),
)
def test_no_name_yields_a_reserved_slug(start: str, rest: str) -> None:
    assert not is_reserved(slug_of(start + rest))


@given(st.from_regex(SLUG_PATTERN, fullmatch=True).filter(lambda slug: not is_reserved(slug)))
def test_numbered_slugs_are_valid_and_distinct(slug: str) -> None:
    slugs = list(islice(slug_candidates(slug), 120))

    assert slugs[0] == slug
    assert all(LEGAL.fullmatch(slug) and not is_reserved(slug) for slug in slugs)
    assert len(set(slugs)) >= len(slugs) - 1  # a slug that ends in a number may be met once more


def test_numbers_count_from_two() -> None:
    assert list(islice(slug_candidates("weather"), 4)) == ["weather", "weather-2", "weather-3", "weather-4"]
    assert list(islice(slug_candidates("a" * 24), 3)) == ["a" * 24, "a" * 22 + "-2", "a" * 22 + "-3"]
    assert list(islice(slug_candidates("a" * 21 + "-bb"), 2))[1] == "a" * 21 + "-2"


def test_the_fallback_slug_is_valid() -> None:
    assert LEGAL.fullmatch(NOTHING_LEFT)
