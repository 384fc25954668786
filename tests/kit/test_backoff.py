import pytest

from api.kit.backoff import Backoff


def test_pauses_double_up_to_the_longest() -> None:
    backoff = Backoff(first=0.5, longest=3.0, jitter=(1, 1))

    assert [backoff.pause(failures) for failures in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize(("random", "pause"), [(0.0, 1.6), (0.5, 2.0), (1.0, 2.4)])
def test_a_pause_is_drawn_between_the_two_factors(random: float, pause: float) -> None:
    assert Backoff(1.0, 10.0).pause(1, lambda: random) == pytest.approx(pause)


def test_full_jitter_draws_between_nothing_and_the_whole_pause() -> None:
    pauses = [Backoff(1.0, 10.0, jitter=(0, 1)).pause(2) for _ in range(200)]

    assert 0 <= min(pauses) < 1.5
    assert 2.5 < max(pauses) <= 4


def test_very_many_failures_do_not_overflow() -> None:
    assert Backoff(1.0, 60.0, jitter=(1, 1)).pause(10_000) == 60.0
