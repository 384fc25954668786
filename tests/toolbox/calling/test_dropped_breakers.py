import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.toolbox.calling.circuit_breakers import BreakerHealth, CircuitBreaker, CircuitBreakers, CircuitOpen
from tests.fakes.still_clock import StillClock

DOWN = "Error calling MCP server: MCP server request failed: 503 Service Unavailable"


def middle() -> float:
    """A pause that is neither longer nor shorter."""
    return 0.5


def fail(breaker: CircuitBreaker, times: int = 1) -> None:
    for _ in range(times):
        assert breaker.admit() is None
        breaker.failed(DOWN)


@pytest.mark.requirement("REL-15")
def test_a_breaker_opens_only_for_the_workspace_in_which_calls_failed() -> None:
    breakers = CircuitBreakers(StillClock(), middle)

    fail(breakers.get("WS#a", "server_1"), 5)

    assert breakers.get("WS#a", "server_1").admit() == CircuitOpen(DOWN, 10)
    assert breakers.get("WS#a", "server_2").admit() is None
    assert breakers.get("WS#b", "server_1").admit() is None


def test_a_server_has_one_breaker_and_reading_its_health_creates_none() -> None:
    breakers = CircuitBreakers(StillClock(), middle, at_most=1)
    fail(breakers.get("WS#a", "server_1"), 3)

    assert breakers.health("WS#a", "server_2") == BreakerHealth("closed", 0, 0)
    assert breakers.health("WS#a", "server_1") == BreakerHealth("closed", 3, 0)
    assert breakers.get("WS#a", "server_1") is breakers.get("WS#a", "server_1")


def test_the_least_recently_used_closed_breaker_is_dropped_first() -> None:
    breakers = CircuitBreakers(StillClock(), middle, at_most=3)
    fail(breakers.get("WS#a", "open"), 5)
    fail(breakers.get("WS#a", "old"), 1)
    fail(breakers.get("WS#a", "older"), 1)
    breakers.get("WS#a", "old")

    breakers.get("WS#a", "new")

    failures = {name: breakers.health("WS#a", name).failures for name in ("open", "old", "older")}
    assert failures == {"open": 5, "old": 1, "older": 0}


def test_an_open_breaker_outlasts_any_number_of_new_ones() -> None:
    breakers = CircuitBreakers(StillClock(), middle, at_most=3)
    fail(breakers.get("WS#a", "open"), 5)

    for number in range(20):
        breakers.get("WS#b", f"server_{number}")

    assert breakers.get("WS#a", "open").admit() == CircuitOpen(DOWN, 10)


def test_the_least_recently_used_is_dropped_if_all_are_open() -> None:
    breakers = CircuitBreakers(StillClock(), middle, at_most=2)
    fail(breakers.get("WS#a", "first"), 5)
    fail(breakers.get("WS#a", "second"), 5)
    breakers.get("WS#a", "first").admit()

    breakers.get("WS#a", "third")

    assert breakers.health("WS#a", "first").state == "open"
    assert breakers.health("WS#a", "second").state == "closed"


def test_a_breaker_whose_pause_is_over_is_dropped_like_a_closed_one() -> None:
    clock = StillClock()
    breakers = CircuitBreakers(clock, middle, at_most=3)
    fail(breakers.get("WS#a", "abandoned"), 5)
    clock.advance(5)
    fail(breakers.get("WS#a", "open"), 5)
    fail(breakers.get("WS#a", "closed"), 1)
    clock.advance(5)

    breakers.get("WS#a", "new")

    failures = {name: breakers.health("WS#a", name).failures for name in ("abandoned", "open", "closed")}
    assert failures == {"abandoned": 0, "open": 5, "closed": 1}


def test_a_spared_breaker_is_dropped_once_its_pause_is_over() -> None:
    clock = StillClock()
    breakers = CircuitBreakers(clock, middle, at_most=2)
    fail(breakers.get("WS#a", "open"), 5)
    breakers.get("WS#a", "closed")
    fail(breakers.get("WS#a", "newer"), 1)
    assert breakers.health("WS#a", "open").state == "open"
    clock.advance(10)

    fail(breakers.get("WS#a", "newest"), 1)

    failures = {name: breakers.health("WS#a", name).failures for name in ("open", "newer", "newest")}
    assert failures == {"open": 0, "newer": 1, "newest": 1}


def test_a_spared_breaker_that_is_used_again_is_dropped_last() -> None:
    breakers = CircuitBreakers(StillClock(), middle, at_most=2)
    spared = breakers.get("WS#a", "spared")
    fail(spared, 5)
    breakers.get("WS#a", "closed")
    fail(breakers.get("WS#a", "second"), 5)
    assert breakers.get("WS#a", "spared") is spared

    breakers.get("WS#a", "third")

    assert breakers.health("WS#a", "spared").state == "open"
    assert breakers.health("WS#a", "second").state == "closed"


@settings(deadline=None)
@given(
    at_most=st.integers(1, 5),
    uses=st.lists(st.tuples(st.integers(0, 8), st.sampled_from([5, 1, 0]), st.sampled_from([0, 3, 10])), max_size=60),
)
def test_the_number_of_breakers_is_limited_and_closed_ones_are_dropped_before_open_ones(
    at_most: int, uses: list[tuple[int, int, int]]
) -> None:
    clock = StillClock()
    breakers, kept = CircuitBreakers(clock, middle, at_most), dict[int, CircuitBreaker]()
    for server, failures, seconds in uses:
        used = breakers.get("WS#a", str(server))
        if server not in kept and len(kept) == at_most:
            del kept[next((item for item in kept if not kept[item].health().retry_after), next(iter(kept)))]
        assert kept.pop(server, used) is used
        kept[server] = used
        for _ in range(failures):
            if used.admit() is None:
                used.failed(DOWN)
        clock.advance(seconds)

        shown = {number: breakers.health("WS#a", str(number)) for number in range(9)}
        expected = {
            number: kept[number].health() if number in kept else BreakerHealth("closed", 0, 0) for number in range(9)
        }
        assert shown == expected


def test_a_call_in_progress_ends_as_usual_when_its_breaker_is_dropped() -> None:
    breakers = CircuitBreakers(StillClock(), middle, at_most=1)
    dropped = breakers.get("WS#a", "server_1")
    assert dropped.admit() is None
    breakers.get("WS#a", "server_2")

    dropped.failed(DOWN)

    assert breakers.health("WS#a", "server_1").failures == 0
