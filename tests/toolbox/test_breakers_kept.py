import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.toolbox.calling.circuit_breakers import Breaker, Breakers, Health, Open
from tests.fakes.still_clock import StillClock

DOWN = "Error calling MCP server: MCP server request failed: 503 Service Unavailable"


def middle() -> float:
    """A pause that is neither longer nor shorter."""
    return 0.5


def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        assert breaker.admit() is None
        breaker.failed(DOWN)


@pytest.mark.requirement("REL-15")
def test_a_server_that_fails_is_left_alone_where_it_failed_only() -> None:
    breakers = Breakers(StillClock(), middle)

    fail(breakers.of("WS#a", "server_1"), 5)

    assert breakers.of("WS#a", "server_1").admit() == Open(DOWN, 10)
    assert breakers.of("WS#a", "server_2").admit() is None
    assert breakers.of("WS#b", "server_1").admit() is None


def test_a_server_has_one_breaker_and_looking_at_it_makes_none() -> None:
    breakers = Breakers(StillClock(), middle, at_most=1)
    fail(breakers.of("WS#a", "server_1"), 3)

    assert breakers.shown("WS#a", "server_2") == Health("closed", 0, 0)
    assert breakers.shown("WS#a", "server_1") == Health("closed", 3, 0)
    assert breakers.of("WS#a", "server_1") is breakers.of("WS#a", "server_1")


def test_the_closed_one_that_was_not_used_for_longest_is_dropped_first() -> None:
    breakers = Breakers(StillClock(), middle, at_most=3)
    fail(breakers.of("WS#a", "open"), 5)
    fail(breakers.of("WS#a", "old"), 1)
    fail(breakers.of("WS#a", "older"), 1)
    breakers.of("WS#a", "old")

    breakers.of("WS#a", "new")

    failures = {name: breakers.shown("WS#a", name).failures for name in ("open", "old", "older")}
    assert failures == {"open": 5, "old": 1, "older": 0}


def test_one_that_is_open_outlasts_any_number_of_newcomers() -> None:
    breakers = Breakers(StillClock(), middle, at_most=3)
    fail(breakers.of("WS#a", "open"), 5)

    for number in range(20):
        breakers.of("WS#b", f"server_{number}")

    assert breakers.of("WS#a", "open").admit() == Open(DOWN, 10)


def test_where_all_are_open_the_one_that_was_not_used_for_longest_is_dropped() -> None:
    breakers = Breakers(StillClock(), middle, at_most=2)
    fail(breakers.of("WS#a", "first"), 5)
    fail(breakers.of("WS#a", "second"), 5)
    breakers.of("WS#a", "first").admit()

    breakers.of("WS#a", "third")

    assert breakers.shown("WS#a", "first").state == "open"
    assert breakers.shown("WS#a", "second").state == "closed"


def test_one_whose_pause_is_over_is_dropped_like_a_closed_one() -> None:
    clock = StillClock()
    breakers = Breakers(clock, middle, at_most=3)
    fail(breakers.of("WS#a", "abandoned"), 5)
    clock.advance(5)
    fail(breakers.of("WS#a", "open"), 5)
    fail(breakers.of("WS#a", "closed"), 1)
    clock.advance(5)

    breakers.of("WS#a", "new")

    failures = {name: breakers.shown("WS#a", name).failures for name in ("abandoned", "open", "closed")}
    assert failures == {"abandoned": 0, "open": 5, "closed": 1}


def test_one_that_was_spared_is_dropped_once_its_pause_is_over() -> None:
    clock = StillClock()
    breakers = Breakers(clock, middle, at_most=2)
    fail(breakers.of("WS#a", "open"), 5)
    breakers.of("WS#a", "closed")
    fail(breakers.of("WS#a", "newer"), 1)
    assert breakers.shown("WS#a", "open").state == "open"
    clock.advance(10)

    fail(breakers.of("WS#a", "newest"), 1)

    failures = {name: breakers.shown("WS#a", name).failures for name in ("open", "newer", "newest")}
    assert failures == {"open": 0, "newer": 1, "newest": 1}


def test_one_that_was_spared_and_is_used_again_is_the_last_to_be_dropped() -> None:
    breakers = Breakers(StillClock(), middle, at_most=2)
    spared = breakers.of("WS#a", "spared")
    fail(spared, 5)
    breakers.of("WS#a", "closed")
    fail(breakers.of("WS#a", "second"), 5)
    assert breakers.of("WS#a", "spared") is spared

    breakers.of("WS#a", "third")

    assert breakers.shown("WS#a", "spared").state == "open"
    assert breakers.shown("WS#a", "second").state == "closed"


@settings(deadline=None)
@given(
    at_most=st.integers(1, 5),
    uses=st.lists(st.tuples(st.integers(0, 8), st.sampled_from([5, 1, 0]), st.sampled_from([0, 3, 10])), max_size=60),
)
def test_no_more_are_kept_than_that_many_and_none_that_is_shut_is_dropped_before_one_that_is_not(
    at_most: int, uses: list[tuple[int, int, int]]
) -> None:
    clock = StillClock()
    breakers, kept = Breakers(clock, middle, at_most), dict[int, Breaker]()
    for server, failures, seconds in uses:
        used = breakers.of("WS#a", str(server))
        if server not in kept and len(kept) == at_most:
            del kept[next((each for each in kept if not kept[each].shown().retry_after), next(iter(kept)))]
        assert kept.pop(server, used) is used
        kept[server] = used
        for _ in range(failures):
            if used.admit() is None:
                used.failed(DOWN)
        clock.advance(seconds)

        shown = {each: breakers.shown("WS#a", str(each)) for each in range(9)}
        expected = {each: kept[each].shown() if each in kept else Health("closed", 0, 0) for each in range(9)}
        assert shown == expected


def test_who_is_under_way_when_it_is_dropped_ends_as_usual() -> None:
    breakers = Breakers(StillClock(), middle, at_most=1)
    dropped = breakers.of("WS#a", "server_1")
    assert dropped.admit() is None
    breakers.of("WS#a", "server_2")

    dropped.failed(DOWN)

    assert breakers.shown("WS#a", "server_1").failures == 0
