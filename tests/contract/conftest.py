from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from api.kit.storage.dynamodb.store import DynamoClient, DynamoStore, dynamo_client
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Store
from tests.fakes.dynamodb import (
    PATIENT_TIMEOUT,
    aws_access,
    empty_table_by_stack,
    moto_endpoint,
    new_table,
)
from tests.fakes.still_clock import StillClock

THREADS = 8


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    with aws_access(), moto_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(params=["sqlite", "moto", "dynoxide"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def open_store(
    engine: str, clock: StillClock, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Callable[[], Store]]:
    """Opens a store on the test's own data, each call another one."""
    make = _sqlite(tmp_path, clock) if engine == "sqlite" else _dynamo(engine, request.getfixturevalue(engine), clock)
    opened: list[Store] = []

    def opens() -> Store:
        opened.append(make())
        return opened[-1]

    yield opens
    for store in opened:
        await store.close()


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


def _sqlite(folder: Path, clock: StillClock) -> Callable[[], Store]:
    return lambda: SqliteStore(folder / "plugboard.db", clock)


def _dynamo(engine: str, endpoint: str, clock: StillClock) -> Callable[[], Store]:
    name = empty_table_by_stack(endpoint) if engine == "moto" else new_table(endpoint)
    return lambda: DynamoStore(_client(endpoint), name, clock, threads=THREADS)


@cache
def _client(endpoint: str) -> DynamoClient:
    """Takes a while to make; closing it only lets go of its connections."""
    client: DynamoClient = dynamo_client(endpoint, THREADS, read_seconds=PATIENT_TIMEOUT)
    return client
