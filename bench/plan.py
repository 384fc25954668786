"""The order and the length of the measurements."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import postgres_database, processes, tables
from bench.bare_app import MANY, ONE
from bench.cases import BenchServers, Case, Product, all_cases, page_request, server_request, tools_request
from bench.comparisons import Comparison, comparisons
from bench.load import Connections, Request, Round, UnexpectedResponse, fetch_body
from bench.passthrough_apps import ALL_TOOLS, ASGI, LITESTAR
from bench.processes import Cores, RunningServer
from bench.seeding import Seeded, seed
from bench.upstream import COUNT
from tests.fakes.dynamodb import dynoxide_is_installed
from tests.fakes.postgres import postgres_is_installed, postgres_server

FEW = 100
WAKE_SECONDS = 0.1
"""The warm-up before each round: it opens the connections on both sides and fills the processor's caches."""


@dataclass(frozen=True, slots=True)
class Plan:
    stored: int
    rounds: int
    seconds: float
    warm_up_seconds: float
    only_limited: bool = False

    def comparisons(self) -> list[Comparison]:
        every = comparisons(self.stored, FEW)
        return [item for item in every if _is_possible(item) and (item.at_most or not self.only_limited)]


QUICK = Plan(stored=10_000, rounds=8, seconds=0.3, warm_up_seconds=0.2, only_limited=True)
FULL = Plan(stored=100_000, rounds=9, seconds=0.4, warm_up_seconds=0.3)


@dataclass(frozen=True, slots=True)
class Measurements:
    plan: Plan
    comparisons: Sequence[Comparison]
    rounds: dict[str, list[Round]]
    start_seconds: dict[str, float]
    peak_bytes: dict[str, int]


async def measure(plan: Plan, directory: Path, cores: Cores) -> Measurements:
    with ExitStack() as running:
        stage = await _start_servers(plan, directory, cores, running)
        compared = plan.comparisons()
        wanted = {name for item in compared for name in (item.case, item.than)}
        cases = [case for case in await all_cases(stage) if case.name in wanted]
        assert wanted == {case.name for case in cases}, wanted - {case.name for case in cases}
        rounds = await _measure_in_rounds(cases, plan, stage.upstream)
        served = dict(_product_servers(stage))
        return Measurements(
            plan,
            compared,
            rounds,
            {name: item.start_seconds for name, item in served.items()},
            {name: item.peak_bytes() for name, item in served.items()},
        )


async def _start_servers(plan: Plan, directory: Path, cores: Cores, running: ExitStack) -> BenchServers:
    upstream = running.enter_context(processes.upstream(directory))
    stored = {
        "few": await seed(_new_directory(directory / "few"), upstream.port, FEW),
        "same": await seed(_new_directory(directory / "same"), upstream.port, plan.stored),
        "spread": await seed(_new_directory(directory / "spread"), upstream.port, FEW, plan.stored),
    }
    products: dict[str, Product] = {}
    if postgres_is_installed():  # first: an installation is not copied while it is served
        products["postgres few"] = _on_postgres(_new_directory(directory / "postgres"), stored["few"], cores, running)
    for name, item in stored.items():
        products[name] = Product(running.enter_context(processes.product(cores, item.data)), item)
    if dynoxide_is_installed():
        for name in ("few", "same"):
            products[f"dynamodb {name}"] = _on_dynamodb(directory / f"dynamodb-{name}", stored[name], cores, running)
    answers = await _store_responses(_new_directory(directory / "answers"), products["few"])
    bare = running.enter_context(processes.bare(cores, answers))
    floors = {
        kind: running.enter_context(processes.floor(cores, kind, upstream.port, answers)) for kind in (ASGI, LITESTAR)
    }
    return BenchServers(products, bare, floors, upstream)


def _on_dynamodb(directory: Path, seeded: Seeded, cores: Cores, running: ExitStack) -> Product:
    database = running.enter_context(processes.dynamodb(tables.import_table(seeded.data, _new_directory(directory))))
    settings = tables.settings(database.port, seeded.data)
    return Product(running.enter_context(processes.product(cores, directory, **settings)), seeded)


def _on_postgres(directory: Path, seeded: Seeded, cores: Cores, running: ExitStack) -> Product:
    database = running.enter_context(postgres_server())
    settings = postgres_database.settings(database.url_of(database.make_database()), seeded.data)
    postgres_database.copy(seeded.data, directory, settings)
    return Product(running.enter_context(processes.product(cores, directory, **settings)), seeded)


async def _store_responses(directory: Path, product: Product) -> Path:
    """Stores responses of the product, which the floors return unchanged."""
    seeded = product.seeded
    questions = {
        ONE: server_request(seeded),
        MANY: page_request(seeded),
        ALL_TOOLS: tools_request(seeded, seeded.agent_of_all),
    }
    for name, question in questions.items():
        (directory / name).write_bytes(await fetch_body(product.server.port, question))
    return directory


def _product_servers(stage: BenchServers) -> Iterator[tuple[str, RunningServer]]:
    yield "bare", stage.bare
    yield from stage.floors.items()
    for name, product in stage.products.items():
        yield name, product.server


def _is_possible(comparison: Comparison) -> bool:
    missing = {"dynamodb": not dynoxide_is_installed(), "postgres": not postgres_is_installed()}
    return not any(is_missing and store in comparison.case for store, is_missing in missing.items())


async def _measure_in_rounds(cases: Sequence[Case], plan: Plan, upstream: RunningServer) -> dict[str, list[Round]]:
    """Measures rounds in random order, so that other load on the machine affects all cases alike."""
    by_name: dict[str, list[Round]] = {case.name: [] for case in cases}
    for case in cases:
        async with Connections(case.server.port, case.concurrency) as connections:
            await connections.send(case.requests, plan.warm_up_seconds)
    for _ in range(plan.rounds):
        for case in random.sample(cases, len(cases)):
            by_name[case.name].append(await _round(case, plan.seconds, upstream))
    return by_name


async def _round(case: Case, seconds: float, upstream: RunningServer) -> Round:
    async with Connections(case.server.port, case.concurrency) as connections:
        await connections.send(case.requests, WAKE_SECONDS)
        requested, before = await _upstream_requests(upstream), case.server.cpu_seconds()
        measured = await connections.send(case.requests, seconds)
        measured.cpu_seconds = case.server.cpu_seconds() - before
        measured.upstream_requests = await _upstream_requests(upstream) - requested
    expected = case.upstream_requests
    if expected is not None and measured.upstream_requests != expected * measured.requests:
        raise UnexpectedResponse(
            f"{case.name}: {measured.requests} requests made {measured.upstream_requests} to the upstream"
        )
    return measured


async def _upstream_requests(upstream: RunningServer) -> int:
    return int(await fetch_body(upstream.port, Request.get(COUNT, "", b"")))


def _new_directory(directory: Path) -> Path:
    directory.mkdir(mode=0o700)
    return directory
