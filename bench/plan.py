"""The order and the length of the measurements."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import processes, tables
from bench.bare_app import MANY, ONE
from bench.cases import Case, Product, Stage, all_cases, one, page, tools
from bench.comparisons import Comparison, comparisons
from bench.load import Question, Round, WrongAnswer, body_of, load
from bench.passthrough_apps import ALL_TOOLS, ASGI, LITESTAR
from bench.processes import Cores, Served
from bench.seeding import Seeded, seed
from bench.upstream import COUNT
from tests.fakes.dynamodb import dynoxide_is_installed

FEW = 100
WAKE_SECONDS = 0.03
"""Before each round: connections to the upstream are closed when nobody needs them for some seconds."""


@dataclass(frozen=True, slots=True)
class Plan:
    stored: int
    rounds: int
    seconds: float
    warm_up_seconds: float
    only_judged: bool = False

    def comparisons(self) -> list[Comparison]:
        every = comparisons(self.stored, FEW)
        return [each for each in every if _is_possible(each) and (each.at_most or not self.only_judged)]


QUICK = Plan(stored=10_000, rounds=5, seconds=0.2, warm_up_seconds=0.2, only_judged=True)
FULL = Plan(stored=100_000, rounds=9, seconds=0.4, warm_up_seconds=0.3)


@dataclass(frozen=True, slots=True)
class Measured:
    plan: Plan
    comparisons: Sequence[Comparison]
    rounds: dict[str, list[Round]]
    start_seconds: dict[str, float]
    peak_bytes: dict[str, int]


async def measure(plan: Plan, directory: Path, cores: Cores) -> Measured:
    with ExitStack() as running:
        stage = await _stage(plan, directory, cores, running)
        compared = plan.comparisons()
        wanted = {name for each in compared for name in (each.case, each.than)}
        cases = [case for case in await all_cases(stage) if case.name in wanted]
        assert wanted == {case.name for case in cases}, wanted - {case.name for case in cases}
        rounds = await _in_turns(cases, plan, stage.upstream)
        served = dict(_served(stage))
        return Measured(
            plan,
            compared,
            rounds,
            {name: each.start_seconds for name, each in served.items()},
            {name: each.peak_bytes() for name, each in served.items()},
        )


async def _stage(plan: Plan, directory: Path, cores: Cores, running: ExitStack) -> Stage:
    upstream = running.enter_context(processes.upstream(directory))
    stored = {
        "few": await seed(_made(directory / "few"), upstream.port, FEW),
        "same": await seed(_made(directory / "same"), upstream.port, plan.stored),
        "spread": await seed(_made(directory / "spread"), upstream.port, FEW, plan.stored),
    }
    products = {
        name: Product(running.enter_context(processes.product(cores, each.data)), each) for name, each in stored.items()
    }
    if dynoxide_is_installed():
        for name in ("few", "same"):
            products[f"dynamodb {name}"] = _on_dynamodb(directory / f"dynamodb-{name}", stored[name], cores, running)
    answers = await _answers(_made(directory / "answers"), products["few"])
    bare = running.enter_context(processes.bare(cores, answers))
    floors = {
        kind: running.enter_context(processes.floor(cores, kind, upstream.port, answers)) for kind in (ASGI, LITESTAR)
    }
    return Stage(products, bare, floors, upstream)


def _on_dynamodb(directory: Path, seeded: Seeded, cores: Cores, running: ExitStack) -> Product:
    database = running.enter_context(processes.dynamodb(tables.imported(seeded.data, _made(directory))))
    settings = tables.settings(database.port, seeded.data)
    return Product(running.enter_context(processes.product(cores, directory, **settings)), seeded)


async def _answers(directory: Path, product: Product) -> Path:
    """What the floors answer: the very bytes of the product."""
    seeded = product.stored
    questions = {ONE: one(seeded), MANY: page(seeded), ALL_TOOLS: tools(seeded, seeded.agent_of_all)}
    for name, question in questions.items():
        (directory / name).write_bytes(await body_of(product.served.port, question))
    return directory


def _served(stage: Stage) -> Iterator[tuple[str, Served]]:
    yield "bare", stage.bare
    yield from stage.floors.items()
    for name, product in stage.products.items():
        yield name, product.served


def _is_possible(comparison: Comparison) -> bool:
    return dynoxide_is_installed() or "dynamodb" not in comparison.case


async def _in_turns(cases: Sequence[Case], plan: Plan, upstream: Served) -> dict[str, list[Round]]:
    """Round after round, each in an order of its own, so that what else the machine does hits all alike."""
    found: dict[str, list[Round]] = {case.name: [] for case in cases}
    for case in cases:
        await load(case.server.port, case.questions, case.concurrency, plan.warm_up_seconds)
    for _ in range(plan.rounds):
        for case in random.sample(cases, len(cases)):
            found[case.name].append(await _round(case, plan.seconds, upstream))
    return found


async def _round(case: Case, seconds: float, upstream: Served) -> Round:
    await load(case.server.port, case.questions, case.concurrency, WAKE_SECONDS)
    asked, before = await _asked(upstream), case.server.cpu_seconds()
    found = await load(case.server.port, case.questions, case.concurrency, seconds)
    found.cpu_seconds = case.server.cpu_seconds() - before
    found.upstream_requests = await _asked(upstream) - asked
    expected = case.upstream_requests
    if expected is not None and found.upstream_requests != expected * found.requests:
        raise WrongAnswer(f"{case.name}: {found.requests} requests made {found.upstream_requests} to the upstream")
    return found


async def _asked(upstream: Served) -> int:
    return int(await body_of(upstream.port, Question.get(COUNT, "", b"")))


def _made(directory: Path) -> Path:
    directory.mkdir(mode=0o700)
    return directory
