"""What the rounds add up to: ratios, their targets, a table and a file."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.load import Round
from bench.plan import FEW, Measured

AGAINST_BARE = 2.0
WHATEVER_IS_STORED = 1.15
# Of more servers than a process remembers, one at random is read and rendered anew. That is told and not judged: it
# compares a server that is not remembered with one that is, whatever the number stored.
NOT_REMEMBERED = ("same", "random")
Time = Callable[[Round], float]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Time per request of one case over that of another, round by round.

    With 32 at a time it is the time that the server is busy, by the CPU clock of its process: where the server is what
    limits, that is one over the throughput, and it is not flattered by an asker too slow for the bare route, nor
    disturbed by whatever else the machine does. One at a time it is the median wait.
    """

    name: str
    ratio: float
    by_the_clock: float
    ms: float
    than_ms: float
    at_most: float | None = None

    @property
    def missed(self) -> bool:
        return self.at_most is not None and self.ratio > self.at_most


def ratios(measured: Measured) -> list[Ratio]:
    return [*_against_bare(measured), *_by_size(measured)]


def _against_bare(measured: Measured) -> Iterator[Ratio]:
    for what, name, at_most in (("one", "one server", AGAINST_BARE), ("list", "list of 50", None)):
        yield _ratio(measured, f"{name}, 1 at a time / bare", f"{what} product 1", f"{what} bare 1", _p50)
        yield _ratio(measured, f"{name}, 32 at a time / bare", f"{what} product 32", f"{what} bare 32", _busy, at_most)


def _by_size(measured: Measured) -> Iterator[Ratio]:
    for kind, where in (("same", "in the workspace"), ("spread", "in other workspaces")):
        for which in ("hot", "random"):
            name = f"{which} server, {measured.plan.stored:,} {where} / {FEW}"
            at_most = None if (kind, which) == NOT_REMEMBERED else WHATEVER_IS_STORED
            yield _ratio(measured, name, f"{which} {kind}", f"{which} few", _busy, at_most)


def _ratio(measured: Measured, name: str, case: str, than: str, time: Time, at_most: float | None = None) -> Ratio:
    these, those = measured.rounds[case], measured.rounds[than]
    return Ratio(
        name,
        _median_ratio(these, those, time),
        _median_ratio(these, those, _clock),
        statistics.median(map(time, these)) * 1000,
        statistics.median(map(time, those)) * 1000,
        at_most,
    )


def _median_ratio(these: Sequence[Round], those: Sequence[Round], time: Time) -> float:
    return statistics.median(time(a) / time(b) for a, b in zip(these, those, strict=True))


def _busy(found: Round) -> float:
    return found.busy_per_request


def _clock(found: Round) -> float:
    return found.per_request


def _p50(found: Round) -> float:
    return found.p50


def show(measured: Measured, found: Sequence[Ratio]) -> None:
    print(f"{'time per request':48}{'ratio':>7}{'target':>9}{'ms':>9}{'than ms':>9}{'by the clock':>14}")
    for each in found:
        target = f"≤ {each.at_most:.2f}" if each.at_most else ""
        print(
            f"{each.name:48}{each.ratio:7.2f}{target:>9}{each.ms:9.3f}{each.than_ms:9.3f}{each.by_the_clock:14.2f}"
            f"{'  missed' * each.missed}"
        )
    print(f"\n{'servers stored':48}{'bare':>9}{FEW:>9}{measured.plan.stored:>9,}")
    for name, values in _rows(measured):
        print(f"{name:48}{''.join(f'{value:9.3f}' for value in values)}")


def _rows(measured: Measured) -> Iterator[tuple[str, list[float]]]:
    who, cases = ("bare", "few", "same"), ("one bare 32", "one product 32", "random same")
    yield "CPU, ms a request (32 at a time)", [1000 * _median(measured, case, _busy) for case in cases]
    yield "requests a ms, by the clock (32 at a time)", [0.001 / _median(measured, case, _clock) for case in cases]
    yield "start to answer, s", [measured.start_seconds[each] for each in who]
    yield "peak memory, MB", [measured.peak_bytes[each] / 1e6 for each in who]


def _median(measured: Measured, case: str, time: Time) -> float:
    return statistics.median(map(time, measured.rounds[case]))


def write(measured: Measured, found: Sequence[Ratio], path: Path) -> None:
    document: dict[str, Any] = {
        "ratios": [asdict(each) | {"missed": each.missed} for each in found],
        "rounds": {name: [asdict(each) for each in rounds] for name, rounds in measured.rounds.items()},
        "start_seconds": measured.start_seconds,
        "peak_bytes": measured.peak_bytes,
        "plan": asdict(measured.plan),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
