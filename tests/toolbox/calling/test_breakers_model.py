"""Every order in which calls can begin and end, against a model that knows which call is which."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.toolbox.calling.circuit_breakers import CircuitBreaker, CircuitOpen
from tests.fakes.still_clock import StillClock


@dataclass(eq=False)
class Call:
    began: float
    is_try: bool


class BreakerMachine(RuleBasedStateMachine):
    """The model counts failures since the last success and knows each call, which the breaker does not."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = StillClock(0.0)
        self.breaker = CircuitBreaker(self.clock, lambda: 0.5)
        self.under_way: list[Call] = []
        self.streak: list[str] = []
        self.try_began: float | None = None
        self.streak_at_try = 0
        self.opened: list[float] = []
        """When, since it was closed."""

    def closed(self) -> bool:
        return len(self.streak) < 5

    def pause_ends(self) -> float:
        return self.opened[-1] + min(10 * 2 ** (len(self.opened) - 1), 300)

    def trying(self) -> list[Call]:
        return [item for item in self.under_way if item.is_try and self.clock.seconds < item.began + 60]

    def has_room(self) -> bool:
        return self.clock.seconds >= self.pause_ends() and not self.try_is_open()

    def try_is_open(self) -> bool:
        """Whether the trial is in progress and younger than a minute."""
        began = self.try_began
        return began is not None and self.clock.seconds < began + 60 and bool(self.under_way)

    @rule(times=st.integers(1, 6))
    def begin(self, times: int) -> None:
        for _ in range(times):
            self.begin_one()

    def begin_one(self) -> None:
        answer = self.breaker.admit()
        if self.closed():
            assert answer is None
            self.under_way.append(Call(self.clock.seconds, is_try=False))
        elif self.has_room():
            assert answer is None
            assert not self.trying(), "two tries at once"
            self.try_began, self.streak_at_try = self.clock.seconds, len(self.streak)
            self.under_way.append(Call(self.clock.seconds, is_try=True))
        else:
            wait = 1 if self.try_is_open() else math.ceil(self.pause_ends() - self.clock.seconds)
            assert answer == CircuitOpen(self.streak[-1], wait)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        self.take(data)
        self.breaker.succeeded()
        self.streak, self.opened, self.try_began = [], [], None
        for item in self.under_way:
            item.is_try = False

    @precondition(lambda self: self.under_way)
    @rule(
        data=st.data(), text=st.sampled_from(["Error: refused", "Error: reset", "Error: 503"]), times=st.integers(1, 6)
    )
    def fail(self, data: st.DataObject, text: str, times: int) -> None:
        for _ in range(min(times, len(self.under_way))):
            self.take(data)
            self.breaker.failed(text)
            self.streak.append(text)
            if len(self.streak) == 5:
                self.opened.append(self.clock.seconds)
            self.settle()

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def learn_nothing(self, data: st.DataObject) -> None:
        self.take(data)
        self.breaker.record_nothing()
        self.settle()

    @rule(seconds=st.sampled_from([0.25, 1, 7.5, 10, 20, 60, 300]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def take(self, data: st.DataObject) -> None:
        self.under_way.remove(data.draw(st.sampled_from(self.under_way)))

    def settle(self) -> None:
        if self.try_began is not None and not self.under_way:
            self.try_began = None
            if len(self.streak) > self.streak_at_try:
                self.opened.append(self.clock.seconds)

    @invariant()
    def it_shows_what_the_model_knows(self) -> None:
        shown = self.breaker.health()
        assert shown.failures == len(self.streak)
        assert shown.state == self.breaker.state
        assert (shown.state == "closed") == self.closed()
        assert self.breaker.is_shut == (shown.retry_after > 0)
        if not self.closed():
            paused = self.clock.seconds < self.pause_ends()
            assert shown.state == ("open" if paused else "half_open")
            assert (shown.retry_after == 0) == self.has_room()

    @invariant()
    def a_server_that_keeps_failing_sees_a_single_call_at_once(self) -> None:
        assert len(self.trying()) <= 1


TestBreakerAgainstItsModel = pytest.mark.requirement("REL-15")(BreakerMachine.TestCase)
TestBreakerAgainstItsModel.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
