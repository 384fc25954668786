from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.comparisons import Comparison
from bench.load import Request, Round, UnexpectedResponse, check_body, complete_body
from bench.plan import FULL, QUICK, Measurements, Plan
from bench.report import Ratio, missed_in_each, ratios

CALL = Comparison("call, 32 at a time / floor", "call few 32", "call asgi 32", at_most=1.5)


def round_of(cpu_seconds: float, seconds: float = 1.0, p50: float = 0.001) -> Round:
    return Round(requests=1000, seconds=seconds, p50=p50, cpu_seconds=cpu_seconds)


def ratio_of(plan: Plan, compared: Comparison, these: Sequence[Round], those: Sequence[Round]) -> Ratio:
    rounds = {compared.case: list(these), compared.than: list(those)}
    (result,) = ratios(Measurements(plan, [compared], rounds, start_seconds={}, peak_bytes={}))
    return result


def test_more_time_than_the_limit_misses() -> None:
    ratio = ratio_of(FULL, CALL, [round_of(0.16)], [round_of(0.10)])

    assert ratio.misses()
    assert ratio.ratio == pytest.approx(1.6)


def test_a_time_within_the_limit_does_not_miss() -> None:
    assert not ratio_of(FULL, CALL, [round_of(0.14)], [round_of(0.10)]).misses()


def test_neither_one_round_nor_a_disturbed_half_of_them_decides() -> None:
    these = [round_of(cpu_seconds) for cpu_seconds in (0.14, 0.90, 0.13, 0.80, 0.70, 0.14)]

    ratio = ratio_of(FULL, CALL, these, [round_of(0.10)] * 6)

    assert ratio.ratio == pytest.approx(1.4)


def test_concurrent_requests_are_compared_by_the_cpu_time_of_the_server() -> None:
    ratio = ratio_of(FULL, CALL, [round_of(0.14, seconds=9.0)], [round_of(0.10, seconds=1.0)])

    assert (ratio.ratio, ratio.wall_clock) == (pytest.approx(1.4), pytest.approx(9.0))


def test_single_requests_are_compared_by_their_median_wait() -> None:
    alone = replace(CALL, case="call few 1", than="call asgi 1")

    ratio = ratio_of(FULL, alone, [round_of(0.1, p50=0.004)], [round_of(0.1, p50=0.002)])

    assert ratio.ratio == pytest.approx(2.0)


def test_the_quick_run_measures_exactly_the_comparisons_with_a_limit() -> None:
    of_full = {
        (comparison.case, comparison.than): comparison.at_most
        for comparison in FULL.comparisons()
        if comparison.at_most
    }
    of_quick = {(comparison.case, comparison.than): comparison.at_most for comparison in QUICK.comparisons()}

    assert of_quick == of_full


@pytest.mark.parametrize("plan", [FULL, QUICK])
@pytest.mark.parametrize(("cpu_seconds", "misses"), [(0.16, False), (0.17, True)])
def test_a_tolerance_raises_the_limit(plan: Plan, cpu_seconds: float, misses: bool) -> None:
    result = ratio_of(plan, CALL, [round_of(cpu_seconds)], [round_of(0.10)])

    assert result.at_most == 1.5
    assert result.misses(tolerance=0.1) is misses
    assert result.misses()


@pytest.mark.parametrize(
    ("case", "than", "at_most"),
    [
        ("call few 32", "call asgi 32", 1 / 0.6),
        ("call few 1", "call asgi 1", 1.75),
        ("call same 32", "call few 32", 1.15),
        ("call spread 32", "call few 32", 1.15),
        ("all few 1", "all bytes 1", 1.5),
        ("all few 32", "all bytes 32", 1.5),
    ],
)
def test_the_limits_are_the_agreed_ones(case: str, than: str, at_most: float) -> None:
    limits = {(comparison.case, comparison.than): comparison.at_most for comparison in FULL.comparisons()}

    assert limits[case, than] == pytest.approx(at_most)


@pytest.mark.parametrize(
    "response", [b"HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\nno", b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nno"]
)
def test_an_error_response_ends_the_run(response: bytes) -> None:
    with pytest.raises(UnexpectedResponse):
        complete_body(response)


def test_a_response_that_differs_from_the_first_ends_the_run() -> None:
    question = Request.get("/tools", "key", b'{"tools":[1]}')

    check_body(b'{"tools":[1]}', question)
    with pytest.raises(UnexpectedResponse):
        check_body(b'{"tools":[2]}', question)


def result(name: str, ratio: float) -> Ratio:
    return Ratio(name, ratio, ratio, 1.0, 1.0, at_most=1.5)


def test_only_what_misses_its_limit_in_each_attempt_is_missed() -> None:
    first, second = [result("call", 1.8), result("list", 1.8)], [result("call", 1.7), result("list", 1.4)]
    third = [result("call", 1.9), result("list", 1.8)]

    assert missed_in_each(iter([first, second, third]), tolerance=0.1) == [result("call", 1.9)]


def test_no_further_attempt_is_made_when_no_limit_was_missed_in_each() -> None:
    attempts = iter([[result("call", 1.8)], [result("call", 1.4)], [result("call", 1.8)]])

    assert missed_in_each(attempts, tolerance=0.0) == []
    assert len(list(attempts)) == 1
