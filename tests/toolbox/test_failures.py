import pytest

from api.toolbox.failures import Failure, FailureKind


def test_the_ways_to_fail_are_a_closed_set() -> None:
    assert set(FailureKind) == {
        "invalid_arguments", "not_connected", "reconnect_required", "rate_limited",
        "upstream_unavailable", "upstream_refused", "timeout",
    }  # fmt: skip


def test_a_failure_says_what_and_when_to_try_again() -> None:
    assert Failure(FailureKind.RATE_LIMITED, "Slow down.", 30).retry_after == 30
    assert Failure(FailureKind.TIMEOUT, "No answer.").retry_after is None


def test_there_is_no_other_kind_of_failure() -> None:
    with pytest.raises(ValueError, match="surprise"):
        Failure("surprise", "Boo.")  # type: ignore[arg-type]
