"""`python -m bench` measures, prints the results, and fails if a limit is missed."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from bench.load import UnexpectedResponse
from bench.plan import FULL, QUICK, Measurements, Plan, measure
from bench.processes import Cores
from bench.report import Ratio, missed_in_each, ratios, show, write

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    arguments = _parser().parse_args()
    if not hasattr(os, "sched_setaffinity"):
        sys.exit("bench: needs Linux, to keep the server and who measures it on cores of their own.")
    cores = Cores.divide()
    os.sched_setaffinity(0, cores.load_generator)
    missed = missed_in_each((_attempt(arguments, cores) for _ in range(arguments.attempts)), arguments.tolerance)
    for result in missed:
        print(f"missed: {result.name} is {result.ratio:.2f}, the limit is {result.at_most:.2f}", file=sys.stderr)
    sys.exit(1 if missed else 0)


def _attempt(arguments: argparse.Namespace, cores: Cores) -> list[Ratio]:
    """Measures everything, with new processes."""
    with tempfile.TemporaryDirectory(prefix="plugboard-bench-") as directory:
        measured = _measure(QUICK if arguments.quick else FULL, Path(directory), cores)
    results = ratios(measured)
    show(measured, results)
    write(measured, results, arguments.to)
    return results


def _measure(plan: Plan, directory: Path, cores: Cores) -> Measurements:
    try:
        return uvloop.run(measure(plan, directory, cores))
    except UnexpectedResponse as error:
        sys.exit(f"bench: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description="Measures the product against bare apps.")
    parser.add_argument(
        "--quick", action="store_true", help="about two minutes: only ratios with a limit, fewer stored"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=0.0,
        help="fail only where a limit is missed by more, such as 0.1 for a tenth",
    )
    parser.add_argument(
        "--attempts", type=int, default=1, help="fail only where a limit is missed in each of so many measurements"
    )
    parser.add_argument(
        "--to", type=Path, default=RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json", help="file for the results"
    )
    return parser


main()
