import pytest

from api.toolbox.calling.circuit_breakers import BreakerHealth, CircuitBreaker, CircuitOpen
from tests.fakes.still_clock import StillClock

DOWN = "Error calling MCP server: MCP server request failed: 503 Service Unavailable"


def middle() -> float:
    """A pause that is neither longer nor shorter."""
    return 0.5


def call(breaker: CircuitBreaker) -> None:
    assert breaker.admit() is None


def fail(breaker: CircuitBreaker, times: int = 1, text: str = DOWN) -> None:
    for _ in range(times):
        call(breaker)
        breaker.failed(text)


def failing(clock: StillClock) -> CircuitBreaker:
    breaker = CircuitBreaker(clock, middle)
    fail(breaker, 5)
    return breaker


@pytest.mark.requirement("REL-15")
def test_the_fifth_failure_in_a_row_opens_the_breaker() -> None:
    breaker = CircuitBreaker(StillClock(), middle)

    fail(breaker, 4)
    assert breaker.health() == BreakerHealth("closed", 4, 0)

    fail(breaker)
    assert breaker.health() == BreakerHealth("open", 5, 10)


def test_a_success_resets_the_count_of_failures() -> None:
    breaker = CircuitBreaker(StillClock(), middle)
    fail(breaker, 4)
    call(breaker)
    breaker.succeeded()

    fail(breaker, 4)

    assert breaker.state == "closed"


def test_an_outcome_that_says_nothing_about_health_is_ignored() -> None:
    breaker = CircuitBreaker(StillClock(), middle)
    fail(breaker, 4)
    for _ in range(20):
        call(breaker)
        breaker.record_nothing()
    assert breaker.health() == BreakerHealth("closed", 4, 0)

    fail(breaker)

    assert breaker.state == "open"


@pytest.mark.requirement("REL-15", "REL-17")
def test_an_open_breaker_reports_the_last_failure_and_the_retry_time() -> None:
    clock = StillClock()
    breaker = CircuitBreaker(clock, middle)
    fail(breaker, 4, "Error: refused")
    fail(breaker, 1, DOWN)

    assert breaker.admit() == CircuitOpen(DOWN, 10)
    clock.advance(0.5)
    assert breaker.admit() == CircuitOpen(DOWN, 10), "rounded down, the caller would come too early"
    clock.advance(9)
    assert breaker.admit() == CircuitOpen(DOWN, 1)


@pytest.mark.requirement("REL-15")
def test_after_the_pause_a_single_trial_is_admitted() -> None:
    clock = StillClock()
    breaker = failing(clock)
    clock.advance(10)
    assert breaker.health() == BreakerHealth("half_open", 5, 0)

    assert [breaker.admit() for _ in range(4)] == [None, *[CircuitOpen(DOWN, 1)] * 3]
    assert breaker.health() == BreakerHealth("half_open", 5, 1)


def test_a_trial_that_succeeds_closes_the_breaker_and_resets_it() -> None:
    clock = StillClock()
    breaker = failing(clock)
    clock.advance(10)
    fail(breaker)  # the next pause would be longer than the first
    clock.advance(20)
    call(breaker)
    breaker.succeeded()
    assert breaker.health() == BreakerHealth("closed", 0, 0)

    fail(breaker, 5)

    assert breaker.health() == BreakerHealth("open", 5, 10)


def test_each_failed_trial_doubles_the_pause_up_to_five_minutes() -> None:
    clock = StillClock()
    breaker = failing(clock)
    pauses = []
    for _ in range(8):
        pauses.append(breaker.health().retry_after)
        clock.advance(pauses[-1])
        fail(breaker, text="Error: still down")

    assert pauses == [10, 20, 40, 80, 160, 300, 300, 300]
    assert breaker.admit() == CircuitOpen("Error: still down", 300)


def test_thousands_of_failures_do_not_overflow_the_count() -> None:
    clock = StillClock()
    breaker = failing(clock)
    for _ in range(5_000):
        clock.advance(300)
        fail(breaker)

    assert breaker.health() == BreakerHealth("open", 5_005, 300)


@pytest.mark.parametrize(("chance", "pause"), [(0.0, 8), (0.25, 9), (0.5, 10), (0.75, 11), (1.0, 12)])
def test_a_pause_is_spread_so_that_trials_do_not_coincide(chance: float, pause: int) -> None:
    breaker = CircuitBreaker(StillClock(), lambda: chance)

    fail(breaker, 5)

    assert breaker.health().retry_after == pause


def test_the_spread_is_drawn_for_each_pause_and_does_not_accumulate() -> None:
    clock, chances = StillClock(), iter([1.0, 1.0, 0.5])
    breaker = CircuitBreaker(clock, lambda: next(chances))
    fail(breaker, 5)
    pauses = [breaker.health().retry_after]
    for _ in range(2):
        clock.advance(pauses[-1])
        fail(breaker)
        pauses.append(breaker.health().retry_after)

    assert pauses == [12, 24, 40]


def test_pauses_of_many_breakers_are_spread_at_random() -> None:
    clock = StillClock(1_000.0)
    breakers = [CircuitBreaker(clock) for _ in range(200)]
    for breaker in breakers:
        fail(breaker, 5)

    pauses = {breaker.health().retry_after for breaker in breakers}

    assert pauses <= {8, 9, 10, 11, 12}
    assert len(pauses) > 1


def test_a_trial_without_a_verdict_admits_another() -> None:
    clock = StillClock()
    breaker = failing(clock)
    clock.advance(10)
    call(breaker)
    breaker.record_nothing()

    assert breaker.health() == BreakerHealth("half_open", 5, 0)
    assert [breaker.admit(), breaker.admit()] == [None, CircuitOpen(DOWN, 1)]


def test_an_earlier_call_that_fails_while_the_breaker_is_open_is_no_trial() -> None:
    clock = StillClock()
    breaker = CircuitBreaker(clock, middle)
    for _ in range(8):
        call(breaker)
    for _ in range(5):
        breaker.failed(DOWN)
    clock.advance(4)

    breaker.failed("Error: refused")
    breaker.record_nothing()

    assert breaker.admit() == CircuitOpen("Error: refused", 6)


def test_an_earlier_call_that_succeeds_closes_the_breaker() -> None:
    clock = StillClock()
    breaker = CircuitBreaker(clock, middle)
    for _ in range(6):
        call(breaker)
    for _ in range(5):
        breaker.failed(DOWN)
    assert breaker.state == "open"

    breaker.succeeded()

    assert breaker.health() == BreakerHealth("closed", 0, 0)


def with_earlier_call(clock: StillClock) -> CircuitBreaker:
    """Half open, the try under way, and a call of before as well."""
    breaker = CircuitBreaker(clock, middle)
    call(breaker)
    fail(breaker, 5)
    clock.advance(10)
    call(breaker)
    return breaker


@pytest.mark.requirement("REL-15")
def test_the_end_of_an_earlier_call_admits_no_second_trial() -> None:
    breaker = with_earlier_call(StillClock())

    breaker.record_nothing()

    assert breaker.admit() == CircuitOpen(DOWN, 1)


def test_an_earlier_call_and_the_trial_count_as_one_failure() -> None:
    breaker = with_earlier_call(StillClock())

    breaker.failed("Error: still down")
    assert breaker.health() == BreakerHealth("half_open", 6, 1)

    breaker.record_nothing()
    assert breaker.admit() == CircuitOpen("Error: still down", 20)


def test_a_success_closes_the_breaker_despite_other_calls_in_progress() -> None:
    breaker = with_earlier_call(StillClock())

    breaker.succeeded()
    assert breaker.health() == BreakerHealth("closed", 0, 0)

    breaker.failed(DOWN)  # the other one, late
    assert breaker.health() == BreakerHealth("closed", 1, 0)


def test_a_trial_without_an_outcome_does_not_keep_the_breaker_open() -> None:
    clock = StillClock()
    breaker = failing(clock)
    clock.advance(10)
    call(breaker)
    clock.advance(59)
    assert breaker.admit() == CircuitOpen(DOWN, 1)

    clock.advance(1)

    assert breaker.health() == BreakerHealth("half_open", 5, 0)
    assert breaker.admit() is None
    breaker.succeeded()
    assert breaker.state == "closed"


@pytest.mark.parametrize(
    ("failed", "answered", "expected"),
    [
        (DOWN, True, BreakerHealth("open", 5, 10)),
        (DOWN, False, BreakerHealth("open", 5, 10)),
        (None, True, BreakerHealth("closed", 0, 0)),
        (None, False, BreakerHealth("closed", 4, 0)),
    ],
)
def test_an_outcome_is_recorded_by_its_failure_and_whether_the_server_answered(
    failed: str | None, answered: bool, expected: BreakerHealth
) -> None:
    breaker = CircuitBreaker(StillClock(), middle)
    fail(breaker, 4)
    call(breaker)

    breaker.record(failed, answered=answered)

    assert breaker.health() == expected


def test_a_report_without_an_admission_does_not_affect_later_trials() -> None:
    clock = StillClock()
    breaker = CircuitBreaker(clock, middle)
    for _ in range(3):
        breaker.succeeded()
        breaker.record_nothing()
    for _ in range(5):
        breaker.failed(DOWN)
    clock.advance(10)

    fail(breaker)

    assert breaker.health() == BreakerHealth("open", 6, 20)
