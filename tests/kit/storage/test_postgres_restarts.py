"""The server crashes, restarts or fails over while many write: nothing acknowledged is lost, nothing happens twice."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.postgres.store import PostgresStore
from api.kit.storage.store import IfAbsent, IfVersion, Key, Put, Store, StoreUnavailable
from api.main.postgres_url import parse_postgres_url
from tests.conftest import ROOT_KEY
from tests.e2e.process import first_workspace, serving, until
from tests.fakes.postgres import (
    NO_POSTGRES,
    PostgresServer,
    make_table,
    new_store,
    postgres_is_installed,
    postgres_server,
)
from tests.harness import WEATHER

pytestmark = pytest.mark.slow
WRITERS, PARTITION, COUNTER = 8, "STORM", Key("STORM", "COUNTER")


@pytest.fixture(scope="module")
def durable() -> Iterator[PostgresServer]:
    """A server that waits for the disk, as in production."""
    if not postgres_is_installed():
        pytest.skip(NO_POSTGRES)
    with postgres_server() as server:
        yield server


@pytest.fixture
async def store(durable: PostgresServer) -> AsyncIterator[PostgresStore]:
    database = durable.make_database()
    store = new_store(durable, database, await make_table(durable, database))
    await store.write(Put(COUNTER, {"n": 0}, IfAbsent()))
    yield store
    await store.close()


class WriteStorm:
    """Writers that each put items of their own and raise one counter, until they are stopped."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = False
        self.acknowledged: list[Key] = []
        self.unanswered: list[Key] = []
        self._progress = asyncio.Event()

    async def rage(self) -> None:
        await asyncio.gather(*(self._write(number) for number in range(WRITERS)))

    async def until_acknowledged(self, more: int) -> None:
        """Waits until so many more writes were acknowledged."""
        wanted = len(self.acknowledged) + more
        while len(self.acknowledged) < wanted:
            self._progress.clear()
            await self._progress.wait()

    def stop(self) -> None:
        self._stopped = True

    async def _write(self, writer: int) -> None:
        number = 0
        while not self._stopped:
            number += 1
            key = Key(PARTITION, f"ITEM#{writer}#{number:05}")
            try:
                await retry_on_conflict(lambda key=key: self._add(key))
            except StoreUnavailable:
                self.unanswered.append(key)
            else:
                self.acknowledged.append(key)
                self._progress.set()

    async def _add(self, key: Key) -> None:
        counter = await self._store.get(COUNTER)
        assert counter is not None
        raised = Put(COUNTER, {"n": counter.data["n"] + 1}, IfVersion(counter.version))
        await self._store.write(raised, Put(key, {}, IfAbsent()))


async def assert_exact(store: Store, storm: WriteStorm) -> None:
    """Each acknowledged write is stored, and the counter has counted each stored item once."""
    items = {item.key for item in await store.query(PARTITION, "ITEM#", limit=1_000_000)}
    counter = await store.get(COUNTER)

    assert set(storm.acknowledged) <= items <= {*storm.acknowledged, *storm.unanswered}
    assert counter is not None
    assert counter.data["n"] == len(items)


@pytest.mark.requirement("REL-08")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL], ids=lambda number: number.name)
async def test_a_restart_in_a_storm_of_writes_loses_nothing(
    durable: PostgresServer, store: PostgresStore, number: signal.Signals
) -> None:
    storm = WriteStorm(store)
    raging = asyncio.create_task(storm.rage())
    for _ in range(3):
        await storm.until_acknowledged(40)
        await asyncio.to_thread(durable.restart, number)
    await storm.until_acknowledged(40)
    storm.stop()
    await raging

    await assert_exact(store, storm)


async def test_a_failover_in_a_storm_of_writes_loses_nothing_that_the_standby_has_confirmed() -> None:
    if not postgres_is_installed():
        pytest.skip(NO_POSTGRES)
    with postgres_server("synchronous_standby_names=*") as primary, primary.standby() as standby:
        database = primary.make_database()
        table = await make_table(primary, database)
        places = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = primary.url_of(database).replace(f"127.0.0.1:{primary.port}", places)
        store = PostgresStore(parse_postgres_url(url), table)
        await store.write(Put(COUNTER, {"n": 0}, IfAbsent()))
        storm = WriteStorm(store)
        raging = asyncio.create_task(storm.rage())
        await storm.until_acknowledged(100)

        await asyncio.to_thread(primary.stop, signal.SIGKILL)
        await asyncio.to_thread(standby.promote)
        await storm.until_acknowledged(100)
        storm.stop()
        await raging

        await assert_exact(store, storm)
        await store.close()


def test_a_process_recovers_from_a_restart_of_the_server(
    durable: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = tmp_path_factory.mktemp("restart") / "var"
    url = durable.url_of(durable.make_database())
    variables = {"PLUGBOARD_STORE": "postgres", "PLUGBOARD_POSTGRES_URL": url, "PLUGBOARD_ROOT_KEY": ROOT_KEY}
    workspace_id, key = first_workspace(data, **variables)
    with serving(data, **variables) as process, process.caller(key) as admin:
        path = f"/api/workspaces/{workspace_id}/mcp-servers"
        created = admin.post(path, json=WEATHER).json()

        durable.stop(signal.SIGQUIT)
        assert admin.get("/readyz").status_code == 503
        assert admin.get("/healthz").status_code == 200
        durable.start()

        until(lambda: admin.get("/readyz").status_code == 200)
        assert admin.get(f"{path}/{created['id']}").json()["name"] == WEATHER["name"]
