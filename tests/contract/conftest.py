from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from api.kit.storage.dynamodb.scan import ScannableDynamoStore, ScanningClient
from api.kit.storage.dynamodb.store import dynamo_client
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Store
from tests.fakes.dynamodb import (
    PATIENT_TIMEOUT,
    aws_access,
    empty_table_by_stack,
    moto_endpoint,
    new_table,
)
from tests.fakes.postgres import PostgresServer, make_table, new_store
from tests.fakes.still_clock import StillClock

THREADS = 8


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    with aws_access(), moto_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(params=["sqlite", "moto", "dynoxide", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def open_store(
    engine: str, clock: StillClock, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Callable[[], Store]]:
    """Opens a store on the test's own data, each call another one."""
    make = await _opener(engine, clock, tmp_path, request)
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


@pytest.fixture(scope="session")
def postgres_database(postgres: PostgresServer) -> str:
    return postgres.make_database()


async def _opener(engine: str, clock: StillClock, folder: Path, request: pytest.FixtureRequest) -> Callable[[], Store]:
    match engine:
        case "sqlite":
            return _sqlite(folder, clock)
        case "postgres":
            return await _postgres(
                request.getfixturevalue("postgres"), request.getfixturevalue("postgres_database"), clock
            )
        case _:
            return _dynamo(engine, request.getfixturevalue(engine), clock)


async def _postgres(server: PostgresServer, database: str, clock: StillClock) -> Callable[[], Store]:
    table = await make_table(server, database)
    return lambda: new_store(server, database, table, clock)


def _sqlite(folder: Path, clock: StillClock) -> Callable[[], Store]:
    return lambda: SqliteStore(folder / "plugboard.db", clock)


def _dynamo(engine: str, endpoint: str, clock: StillClock) -> Callable[[], Store]:
    name = empty_table_by_stack(endpoint) if engine == "moto" else new_table(endpoint)
    return lambda: ScannableDynamoStore(_client(endpoint), name, clock, THREADS)


@cache
def _client(endpoint: str) -> ScanningClient:
    """Takes a while to make; closing it only lets go of its connections."""
    client: ScanningClient = dynamo_client(endpoint, THREADS, read_seconds=PATIENT_TIMEOUT)
    return client
