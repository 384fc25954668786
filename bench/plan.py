"""What is asked of which server, in which order, and how long."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.bare import MANY, ONE
from bench.load import Question, Round, body_of, load
from bench.processes import Cores, Served, bare, product
from bench.seeding import Seeded, seed

FEW = 100
PAGE = "?limit=50"
AT_RANDOM = 40_000  # twice what a process remembers, so that most of it is read from the store
WARM_UP_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Plan:
    stored: int
    rounds: int
    seconds: float


QUICK = Plan(stored=10_000, rounds=5, seconds=0.2)
FULL = Plan(stored=100_000, rounds=9, seconds=0.7)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    server: Served
    questions: Iterator[Question]
    concurrency: int


@dataclass(frozen=True, slots=True)
class Measured:
    plan: Plan
    rounds: dict[str, list[Round]]
    start_seconds: dict[str, float]
    peak_bytes: dict[str, int]


async def measure(plan: Plan, directory: Path, cores: Cores) -> Measured:
    few = await seed(_made(directory / "few"), FEW)
    same = await seed(_made(directory / "same"), plan.stored)
    spread = await seed(_made(directory / "spread"), FEW, plan.stored)
    with ExitStack() as running:
        served = {name: running.enter_context(product(cores, each.data)) for name, each in _named(few, same, spread)}
        answers = await _answers(_made(directory / "bare"), served["few"], few)
        served["bare"] = running.enter_context(bare(cores, answers))
        cases = [
            *_against_bare(served, few, answers),
            *(case for name, each in _named(few, same, spread) for case in _by_size(name, served[name], each)),
        ]
        rounds = await _in_turns(cases, plan)
        return Measured(
            plan,
            rounds,
            {name: each.start_seconds for name, each in served.items()},
            {name: each.peak_bytes() for name, each in served.items()},
        )


def _named(few: Seeded, same: Seeded, spread: Seeded) -> list[tuple[str, Seeded]]:
    return [("few", few), ("same", same), ("spread", spread)]


async def _answers(directory: Path, served: Served, seeded: Seeded) -> Path:
    """What the bare route answers: the very bytes of the product."""
    for name, path in ((ONE, seeded.path(seeded.server_ids[0])), (MANY, seeded.path() + PAGE)):
        (directory / name).write_bytes(await body_of(served.port, Question.get(path, seeded.key, b"")))
    return directory


def _against_bare(served: dict[str, Served], few: Seeded, answers: Path) -> Iterator[Case]:
    for what, path, file in (("one", few.path(few.server_ids[0]), ONE), ("list", few.path() + PAGE, MANY)):
        question = Question.get(path, few.key, (answers / file).read_bytes())
        for concurrency, (who, server) in itertools.product((1, 32), (("bare", "bare"), ("product", "few"))):
            yield Case(f"{what} {who} {concurrency}", served[server], itertools.repeat(question), concurrency)


def _by_size(name: str, server: Served, seeded: Seeded) -> Iterator[Case]:
    hot = _question(seeded, seeded.server_ids[len(seeded.server_ids) // 2])
    some = [_question(seeded, each) for each in random.choices(seeded.server_ids, k=AT_RANDOM)]
    yield Case(f"hot {name}", server, itertools.repeat(hot), 32)
    yield Case(f"random {name}", server, itertools.cycle(some), 32)


def _question(seeded: Seeded, server_id: str) -> Question:
    return Question.get(seeded.path(server_id), seeded.key, f'{{"id":"{server_id}",'.encode())


async def _in_turns(cases: Sequence[Case], plan: Plan) -> dict[str, list[Round]]:
    """Round after round, each in an order of its own, so that what else the machine does hits all alike."""
    found: dict[str, list[Round]] = {case.name: [] for case in cases}
    for case in cases:
        await load(case.server.port, case.questions, case.concurrency, WARM_UP_SECONDS)
    for _ in range(plan.rounds):
        for case in random.sample(cases, len(cases)):
            found[case.name].append(await _round(case, plan.seconds))
    return found


async def _round(case: Case, seconds: float) -> Round:
    before = case.server.cpu_seconds()
    found = await load(case.server.port, case.questions, case.concurrency, seconds)
    found.cpu_seconds = case.server.cpu_seconds() - before
    return found


def _made(directory: Path) -> Path:
    directory.mkdir(mode=0o700)
    return directory
