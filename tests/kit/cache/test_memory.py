"""Caches that share one bounded memory."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from api.kit.cache.memory import ENTRY_BYTES, CacheMemory, OwnedCache

BIG = 10_000


def sized(entries: int) -> int:
    """Room for so many entries of `BIG` bytes."""
    return entries * (BIG + ENTRY_BYTES)


def test_an_owner_beyond_its_share_loses_its_own_least_recently_used_entries() -> None:
    memory = CacheMemory(sized(10), sized(2))
    lists, records = OwnedCache[str, int](memory, "lists"), OwnedCache[str, int](memory, "records")
    records.put("mine", "theirs", 0, BIG)
    lists.put("theirs", "a", 1, BIG)
    records.put("theirs", "b", 2, BIG)
    lists.get("a")

    lists.put("theirs", "c", 3, BIG)

    assert (lists.get("a"), records.get("b"), lists.get("c"), records.get("theirs")) == (1, None, 3, 0)
    assert (memory.size_of("theirs"), memory.size_of("mine"), memory.size) == (sized(2), sized(1), sized(3))
    assert (records.usage.evicted_by_workspace, lists.usage.evicted_by_workspace) == (1, 0)


def test_a_full_process_takes_from_the_owner_that_was_used_least_recently() -> None:
    memory = CacheMemory(sized(3), sized(3))
    cache = OwnedCache[str, int](memory, "lists")
    for owner in ("first", "second", "third"):
        cache.put(owner, owner, 1, BIG)
    cache.get("first")
    cache.peek("second")

    cache.put("fourth", "fourth", 1, BIG)

    assert [key for key, _ in cache.items()] == ["first", "third", "fourth"]
    assert (cache.usage.evicted_by_process, cache.usage.evicted_by_workspace, cache.usage.size) == (1, 0, sized(3))


def test_a_value_beyond_a_share_is_not_kept_and_evicts_nothing_else() -> None:
    memory, gone = CacheMemory(sized(10), sized(2)), list[int]()
    cache = OwnedCache[str, int](memory, "lists", gone.append)
    cache.put("a", "small", 1, BIG)
    cache.put("b", "other", 2, BIG)

    cache.put("a", "large", 3, 3 * BIG)

    assert (cache.get("large"), cache.get("small"), cache.get("other")) == (None, 1, 2)
    assert gone == [3]
    assert (memory.size, memory.size_of("a")) == (sized(2), sized(1))


def test_an_entry_that_grows_makes_room_for_itself() -> None:
    memory, gone = CacheMemory(sized(10), sized(3)), list[int]()
    cache = OwnedCache[str, int](memory, "toolsets", gone.append)
    for number in range(3):
        cache.put("a", str(number), number, BIG)

    cache.resize("1", 2 * BIG)
    cache.resize("nothing", BIG)

    assert ([key for key, _ in cache.items()], gone) == (["1", "2"], [0])
    assert memory.size == sized(2) + BIG


def test_a_value_that_is_removed_or_replaced_is_not_evicted() -> None:
    memory, gone = CacheMemory(), list[int]()
    cache = OwnedCache[str, int](memory, "toolsets", gone.append)
    cache.put("a", "key", 1, BIG)
    cache.put("b", "key", 2, 2 * BIG)

    assert (memory.size_of("a"), memory.size_of("b"), len(cache)) == (0, 2 * BIG + ENTRY_BYTES, 1)
    assert (cache.pop("key"), cache.pop("key"), cache.get("key"), memory.size) == (2, None, None, 0)
    assert gone == []


OPERATIONS = st.tuples(
    st.sampled_from(["put", "get", "pop", "resize"]),
    st.sampled_from("abcd"),
    st.integers(0, 5),
    st.integers(0, 4 * BIG),
)


@given(st.lists(OPERATIONS, max_size=80))
@settings(max_examples=150, deadline=None)
def test_no_bound_is_ever_exceeded_and_every_byte_is_counted_once(moves: list[tuple[str, str, int, int]]) -> None:
    memory = CacheMemory(sized(6), sized(3))
    caches = [OwnedCache[tuple[str, int], int](memory, name) for name in ("lists", "records")]
    for what, owner, number, size in moves:
        cache, key = caches[number % 2], (owner, number)
        match what:
            case "put":
                cache.put(owner, key, size, size)
            case "get":
                assert cache.get(key) == cache.peek(key)
            case "pop":
                cache.pop(key)
            case _:
                cache.resize(key, size)

        assert memory.size <= sized(6)
        assert all(memory.size_of(owner) <= sized(3) for owner in "abcd")
        assert memory.size == sum(memory.size_of(owner) for owner in "abcd") == sum(use.size for use in memory.uses)
        assert memory.size >= ENTRY_BYTES * sum(map(len, caches))
        assert bool(memory.size) == bool(sum(map(len, caches)))
