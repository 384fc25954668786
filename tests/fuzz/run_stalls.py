"""Looks for inputs of strangers that hold the event loop, and prints the longest stall of each kind.

`make stalls` runs it. Each input is worked on in a process that is stopped after a while. An input that is over the
limit is stored; `ARGS='--only validation/123 --seed …'` runs it again, and the known shapes are always run first.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path

from api.main.asgi import tune_garbage_collector
from tests.fuzz.stall_inputs import KINDS, SEEDS, SHARES, input_of
from tests.fuzz.stall_work import longest_piece, slowness

LIMIT_SECONDS = 0.05
"""Of CPU, where the machine is as fast as the one that the limits were set on."""
PATIENCE_SECONDS = 20.0
"""Of CPU for one input; then its process ends, even within code that nothing interrupts."""
LONGEST_WAIT_SECONDS = 300.0
REPETITIONS = 4
"""Of an input that seems too slow: other programs make any work look longer, so its shortest time counts."""
CALIBRATION_EVERY = 50


@dataclass
class Worst:
    """The longest stall of a kind."""

    seconds: float = 0.0
    number: int = 0
    cases: int = 0
    over: list[int] = field(default_factory=list)


def work(pipe: Connection, seed: str) -> None:
    """In a process of its own: answers each number of a kind with the CPU time of the longest piece."""
    tune_garbage_collector()  # as the server does
    done, slow = 0, slowness()
    while (asked := pipe.recv()) is not None:
        kind, number = asked
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE_SECONDS)  # without a handler its signal ends the process
        slow = slowness() if done % CALIBRATION_EVERY == 0 else slow
        seconds = longest_piece(kind, input_of(kind, number, seed)) / slow
        for _ in range(REPETITIONS):
            if seconds > LIMIT_SECONDS:
                seconds = min(seconds, longest_piece(kind, input_of(kind, number, seed)) / slowness())
        done += 1
        pipe.send(seconds)


class Worker:
    """A process that is replaced when it does not answer."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=work, args=(other, self._seed), daemon=True)
        self._process.start()
        other.close()

    def seconds(self, kind: str, number: int) -> float:
        self._pipe.send((kind, number))
        try:
            if self._pipe.poll(LONGEST_WAIT_SECONDS):
                answer: float = self._pipe.recv()
                return answer
        except EOFError:
            print(f"{kind}/{number} ended the process.")
        self.stop()
        self._start()
        return PATIENCE_SECONDS

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make stalls")
    parser.add_argument("--cases", type=int, default=3_000, help="inputs of all kinds together, after the known shapes")
    parser.add_argument("--seconds", type=float, default=60, help="stop after this time")
    parser.add_argument("--seed", default="1", help="of the random inputs")
    parser.add_argument("--only", help="a kind, or one input as kind/number")
    return parser.parse_args(arguments)


def schedule(cases: int, only: str | None) -> list[tuple[str, int]]:
    kind, _, number = (only or "").partition("/")
    if number:
        return [(kind, int(number))]
    kinds = [kind] if kind else KINDS
    known = [(each, n) for each in kinds for n in range(len(SEEDS[each]))]
    return known + list(islice(random_inputs(kinds), cases))


def random_inputs(kinds: Sequence[str]) -> Iterator[tuple[str, int]]:
    """More of the kinds that take less time."""
    number = {kind: len(SEEDS[kind]) for kind in kinds}
    while True:
        for kind in kinds:
            for _ in range(SHARES[kind]):
                yield kind, number[kind]
                number[kind] += 1


def run(asked: argparse.Namespace) -> dict[str, Worst]:
    worst = {kind: Worst() for kind in KINDS}
    worker, end = Worker(asked.seed), time.monotonic() + asked.seconds
    for kind, number in schedule(asked.cases, asked.only):
        of_kind = worst[kind]
        if time.monotonic() > end and number >= len(SEEDS[kind]):
            break
        seconds = worker.seconds(kind, number)
        of_kind.cases += 1
        if seconds > of_kind.seconds:
            of_kind.seconds, of_kind.number = seconds, number
        if seconds > LIMIT_SECONDS:
            of_kind.over.append(number)
    worker.stop()
    return worst


def store(kind: str, number: int, seed: str) -> Path:
    folder = Path(tempfile.gettempdir(), "plugboard-stalls")
    folder.mkdir(exist_ok=True)
    given = input_of(kind, number, seed)
    path = folder / f"{kind}-{number}-{seed}"
    path.write_bytes(given if isinstance(given, bytes) else json.dumps(given).encode())
    return path


def main() -> None:
    os.nice(5)
    asked = options(sys.argv[1:])
    worst = {kind: found for kind, found in run(asked).items() if found.cases}
    for kind, found in worst.items():
        print(f"{kind:12}{found.cases:8} inputs   longest stall {found.seconds * 1000:7.1f} ms   {kind}/{found.number}")
    over = [(kind, number) for kind, found in worst.items() for number in found.over]
    for kind, number in over:
        print(f"{kind}/{number} takes more than {LIMIT_SECONDS * 1000:.0f} ms: {store(kind, number, asked.seed)}")
    if over:
        sys.exit(1)


if __name__ == "__main__":
    main()
