from api.kit.lru import LruCache


def test_the_least_recently_used_entry_makes_room() -> None:
    cache = LruCache[str, int](3)
    for number, key in enumerate("abc"):
        cache.put(key, number)
    cache.get("a")
    cache.peek("b")
    cache.put("d", 3)

    assert list(cache) == ["c", "a", "d"]
    assert cache.get("b") is None


def test_entries_are_dropped_until_the_sizes_fit() -> None:
    cache = LruCache[str, str](10, 10, len)
    for key in "abc":
        cache.put(key, key * 3)
    cache.put("d", "d" * 6)

    assert list(cache) == ["c", "d"]
    assert cache.size == 9


def test_a_value_larger_than_the_cache_is_not_kept_and_its_predecessor_goes() -> None:
    cache = LruCache[str, str](10, 5, len)
    cache.put("a", "aaa")
    cache.put("b", "b")
    cache.put("a", "a" * 6)

    assert list(cache) == ["b"]
    assert cache.size == 1


def test_a_replaced_value_counts_once() -> None:
    cache = LruCache[str, str](2, 10, len)
    for length in range(1, 6):
        cache.put("a", "a" * length)

    assert (len(cache), cache.size, cache.get("a")) == (1, 5, "aaaaa")
    assert cache.pop("a") == "aaaaa"
    assert cache.pop("a") is None
    assert (len(cache), cache.size) == (0, 0)
