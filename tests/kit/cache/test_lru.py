from api.kit.cache.lru import LruCache


def test_the_least_recently_used_entry_makes_room() -> None:
    cache = LruCache[str, int](3)
    for number, key in enumerate("abc"):
        cache.put(key, number)
    cache.get("a")
    cache.peek("b")
    cache.put("d", 3)

    assert list(cache) == ["c", "a", "d"]
    assert cache.get("b") is None


def test_a_replaced_value_evicts_no_other() -> None:
    cache = LruCache[str, int](2)
    for number in range(5):
        cache.put("a", number)
    cache.put("b", 1)
    cache.put("a", 5)

    assert (len(cache), cache.get("a"), cache.pop("b"), cache.pop("b")) == (2, 5, 1, None)
