"""The table is made and migrated once, whoever starts first, and only a table of Plugboard's is used."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable

import pytest

from api.kit.storage.postgres.store import PostgresStore
from api.kit.storage.postgres.table import LONGEST_NAME, MIGRATIONS
from api.kit.storage.store import IfAbsent, Key, Put, StoreUnavailable
from api.main.postgres_url import parse_postgres_url
from tests.fakes.postgres import USER, PostgresServer, new_store

A, TABLE = Key("WS#1", "A"), Key("", "TABLE")


@pytest.fixture
def name() -> str:
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
async def open_store(
    postgres: PostgresServer, postgres_database: str, name: str
) -> AsyncIterator[Callable[[], PostgresStore]]:
    opened: list[PostgresStore] = []

    def opens() -> PostgresStore:
        opened.append(new_store(postgres, postgres_database, name))
        return opened[-1]

    yield opens
    for store in opened:
        await store.close()


async def test_of_many_that_start_at_once_one_makes_the_table(open_store: Callable[[], PostgresStore]) -> None:
    stores = [open_store() for _ in range(8)]

    created = await asyncio.gather(*(store.prepare() for store in stores))

    assert sorted(created) == [False] * 7 + [True]
    await stores[0].write(Put(A, {}, IfAbsent()))
    assert await stores[7].get(A) is not None


async def test_an_existing_table_is_left_unchanged(open_store: Callable[[], PostgresStore]) -> None:
    first = open_store()
    assert await first.prepare()
    await first.write(Put(A, {"n": 1}, IfAbsent()))

    assert not await open_store().prepare()

    item = await first.get(A)
    assert item is not None
    assert item.data == {"n": 1}
    assert await first.query("", "TABLE") == [await first.get(TABLE)]


async def test_a_missing_table_is_reported(open_store: Callable[[], PostgresStore]) -> None:
    with pytest.raises(StoreUnavailable, match=r"42P01.*no such table. Check PLUGBOARD_TABLE"):
        await open_store().get(A)


async def test_a_later_table_is_served_if_it_allows_it(
    open_store: Callable[[], PostgresStore], postgres: PostgresServer, postgres_database: str, name: str
) -> None:
    store = open_store()
    await store.prepare()

    def migrate(served_since: int) -> None:
        later = f"""UPDATE "{name}" SET version = 99, data = '{{"served_since": {served_since}}}' WHERE pk = ''"""  # noqa: S608
        postgres.run(later, database=postgres_database)

    migrate(served_since=len(MIGRATIONS))
    assert not await open_store().prepare()

    migrate(served_since=len(MIGRATIONS) + 1)
    with pytest.raises(StoreUnavailable, match="a later version of Plugboard"):
        await open_store().prepare()


async def test_a_table_of_another_program_is_refused(
    open_store: Callable[[], PostgresStore], postgres: PostgresServer, postgres_database: str, name: str
) -> None:
    postgres.run(
        f'CREATE TABLE "{name}" (pk text, sk text, version bigint, data bytea)',
        f'ALTER TABLE "{name}" OWNER TO {USER}',
        database=postgres_database,
    )

    with pytest.raises(StoreUnavailable, match="not created by Plugboard"):
        await open_store().prepare()


async def test_a_database_with_another_encoding_is_refused(postgres: PostgresServer, name: str) -> None:
    database = f"latin_{uuid.uuid4().hex}"
    postgres.run(f"CREATE DATABASE {database} OWNER {USER} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    store = new_store(postgres, database, name)

    with pytest.raises(StoreUnavailable, match="must be UTF8, not LATIN1"):
        await store.prepare()
    await store.close()


async def test_a_user_without_the_right_to_create_is_told_what_is_needed(postgres: PostgresServer, name: str) -> None:
    database = f"locked_{uuid.uuid4().hex}"
    postgres.run(f"CREATE DATABASE {database}")
    store = new_store(postgres, database, name)

    with pytest.raises(StoreUnavailable, match=r"42501.*right to create a table"):
        await store.prepare()
    await store.close()


async def test_a_name_that_postgresql_would_cut_is_refused(postgres: PostgresServer, postgres_database: str) -> None:
    address = parse_postgres_url(postgres.url_of(postgres_database))
    store = PostgresStore(address, "x" * (LONGEST_NAME + 1))

    with pytest.raises(StoreUnavailable, match="PLUGBOARD_TABLE may have at most"):
        await store.prepare()
    await store.close()
