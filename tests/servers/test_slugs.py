import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.access.context import WorkspaceContext, partition_of
from api.access.principal import SYSTEM_PRINCIPAL
from api.kit.storage.revision_cache import RevisionCache, Snapshot
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import IfAbsent, Item, Key, Put
from api.servers.repository import ServerRepository
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
    slugs = slug_candidates(slug)

    assert slugs[0] == slug
    assert all(LEGAL.fullmatch(slug) and not is_reserved(slug) for slug in slugs)
    assert len(set(slugs)) == len(slugs) > 20


def test_numbers_count_from_two() -> None:
    assert slug_candidates("weather")[:4] == ["weather", "weather-2", "weather-3", "weather-4"]
    assert slug_candidates("a" * 24)[:3] == ["a" * 24, "a" * 22 + "-2", "a" * 22 + "-3"]
    assert slug_candidates("a" * 21 + "-bb")[1] == "a" * 21 + "-2"


class CountingStore(SqliteStore):
    """Counts its reads."""

    reads = 0

    async def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        self.reads += 1
        return await super().get_many(keys)


async def test_a_name_that_many_servers_have_takes_one_read(tmp_path: Path) -> None:
    store = CountingStore(tmp_path / "plugboard.db")
    snapshot = Snapshot(partition_of("ws_1"), 1, RevisionCache(store))
    servers = ServerRepository(store, WorkspaceContext("ws_1", SYSTEM_PRINCIPAL, snapshot, "test"))
    taken = ["weather", *(f"weather-{number}" for number in range(2, 3000))]
    for begin in range(0, len(taken), 100):
        await store.write(*(Put(servers.slug_key(slug), {}, IfAbsent()) for slug in taken[begin : begin + 100]))

    free = [await servers.free_slug("weather") for _ in range(20)]

    assert store.reads == 20
    assert len({*free, *taken}) == 20 + len(taken)
    assert all(re.fullmatch("weather-[0-9a-z]{6}", slug) for slug in free)
    await store.close()


def test_the_fallback_slug_is_valid() -> None:
    assert LEGAL.fullmatch(NOTHING_LEFT)
