"""Turns measured rounds into ratios, and prints and stores them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.comparisons import Comparison, Time, cpu_time, p50, wall_time
from bench.load import Round
from bench.plan import Measurements
from tests.fakes.dynamodb import NO_DYNOXIDE


@dataclass(frozen=True, slots=True)
class Ratio:
    """The result of a comparison over all rounds."""

    name: str
    ratio: float
    wall_clock: float
    ms: float
    than_ms: float
    at_most: float | None = None

    def misses(self, tolerance: float = 0.0) -> bool:
        """Whether the ratio exceeds its limit by more than this fraction of the limit."""
        return self.at_most is not None and self.ratio > self.at_most * (1 + tolerance)


def ratios(measured: Measurements) -> list[Ratio]:
    return [_ratio(measured, comparison) for comparison in measured.comparisons]


def missed_in_each(attempts: Iterable[Sequence[Ratio]], tolerance: float) -> list[Ratio]:
    """What missed its limit in every attempt, as the last one measured it. Attempts end when nothing is left."""
    names: set[str] | None = None
    missed: list[Ratio] = []
    for results in attempts:
        missed = [result for result in results if result.misses(tolerance) and (names is None or result.name in names)]
        names = {result.name for result in missed}
        if not names:
            break
    return missed


def _ratio(measured: Measurements, comparison: Comparison) -> Ratio:
    these, those = measured.rounds[comparison.case], measured.rounds[comparison.than]
    return Ratio(
        comparison.name,
        undisturbed_time(these, comparison.time) / undisturbed_time(those, comparison.time),
        undisturbed_time(these, wall_time) / undisturbed_time(those, wall_time),
        undisturbed_time(these, comparison.time) * 1000,
        undisturbed_time(those, comparison.time) * 1000,
        comparison.at_most,
    )


def undisturbed_time(rounds: Sequence[Round], time: Time) -> float:
    """The lower quartile: other load on the machine adds time to some rounds and takes none away."""
    return sorted(map(time, rounds))[len(rounds) // 4]


def show(measured: Measurements, ratios: Sequence[Ratio]) -> None:
    print(f"{'time per request':54}{'ratio':>7}{'target':>9}{'ms':>9}{'than ms':>9}{'by the clock':>14}")
    for ratio in ratios:
        target = f"≤ {ratio.at_most:.2f}" if ratio.at_most else ""
        print(
            f"{ratio.name:54}{ratio.ratio:7.2f}{target:>9}{ratio.ms:9.3f}{ratio.than_ms:9.3f}{ratio.wall_clock:14.2f}"
            f"{'  missed' * ratio.misses()}"
        )
    for line in _remarks(measured):
        print(line)
    _show_servers(measured)


def _remarks(measured: Measurements) -> Iterator[str]:
    yield "\nEach call made one request to the upstream, each warm list none."
    if not any(name.startswith("dynamodb") for name in measured.start_seconds):
        yield f"Not measured on DynamoDB: {NO_DYNOXIDE}."


def _show_servers(measured: Measurements) -> None:
    print(f"\n{'':16}{'a call: CPU, ms':>17}{'p50 of 1, ms':>14}{'of 32, a s':>12}{'start, s':>10}{'peak, MB':>10}")
    for name, seconds in measured.start_seconds.items():
        many, alone = measured.rounds.get(f"call {name} 32"), measured.rounds.get(f"call {name} 1")
        cpu = f"{1000 * undisturbed_time(many, cpu_time):.3f}" if many else ""
        wait = f"{1000 * undisturbed_time(alone, p50):.3f}" if alone else ""
        rate = f"{1 / undisturbed_time(many, wall_time):,.0f}" if many else ""
        print(f"{name:16}{cpu:>17}{wait:>14}{rate:>12}{seconds:10.2f}{measured.peak_bytes[name] / 1e6:10.0f}")


def write(measured: Measurements, ratios: Sequence[Ratio], path: Path) -> None:
    document: dict[str, Any] = {
        "ratios": [asdict(ratio) | {"missed": ratio.misses()} for ratio in ratios],
        "rounds": {name: [asdict(round_) for round_ in rounds] for name, rounds in measured.rounds.items()},
        "start_seconds": measured.start_seconds,
        "peak_bytes": measured.peak_bytes,
        "plan": asdict(measured.plan),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
