"""The connections to PostgreSQL: bounded, encrypted where they leave the machine, and never in the way of others."""

import asyncio
import datetime as dt
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from api.kit.clock import Clock
from api.kit.storage.postgres.connections import LONGEST_IDLE_SECONDS, LONGEST_LIFE_SECONDS, PostgresSession
from api.kit.storage.postgres.retries import failure_of, retry
from api.kit.storage.postgres.store import SWEEP_AT_MOST, SWEEP_EVERY_SECONDS, PostgresStore
from api.kit.storage.store import Always, Check, IfAbsent, Key, Put, StoreUnavailable
from api.main.postgres_url import parse_postgres_url
from tests.fakes.postgres import PASSWORD, PostgresServer, make_table, new_store
from tests.fakes.postgres_faults import faulty_postgres
from tests.fakes.still_clock import StillClock
from tests.fakes.tcp_proxy import proxy_to

A, B = Key("WS#1", "A"), Key("WS#1", "B")
IDLE_OR_BUSY = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'plugboard' AND datname = '{}'"


@asynccontextmanager
async def opened(
    url: str, table: str, connections: int = 8, clock: Clock | None = None
) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(parse_postgres_url(url), table, clock, connections)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def table(postgres: PostgresServer, postgres_database: str) -> str:
    return await make_table(postgres, postgres_database)


@pytest.fixture
async def store(postgres: PostgresServer, postgres_database: str, table: str) -> AsyncIterator[PostgresStore]:
    store = new_store(postgres, postgres_database, table)
    yield store
    await store.close()


async def test_no_more_connections_are_opened_than_allowed(postgres: PostgresServer, postgres_database: str) -> None:
    table = await make_table(postgres, postgres_database)
    async with faulty_postgres(postgres.port) as wire:
        url = postgres.url_of(postgres_database, wire.port)
        async with opened(url, table, connections=3) as store:
            puts = [Put(Key("WS#1", f"{number}"), {}, IfAbsent()) for number in range(50)]
            await asyncio.gather(*(store.write(put) for put in puts), *(store.get(A) for _ in range(50)))
            assert len(await store.query("WS#1")) == 50

        assert wire.connections == 3
        assert store.pool.in_use == 0


async def test_waiting_for_a_connection_ends(postgres: PostgresServer, postgres_database: str, table: str) -> None:
    async with opened(postgres.url_of(postgres_database), table, connections=1) as store:
        taken = asyncio.Event()

        async def hold(_: object) -> None:
            taken.set()
            await asyncio.Event().wait()

        holding = asyncio.create_task(store.pool.run(hold, 60))
        await taken.wait()

        with pytest.raises(StoreUnavailable, match="all 1 connections"):
            await store.pool.run(hold, 60, wait_seconds=0.01)
        holding.cancel()
        await asyncio.wait([holding])
        assert await store.get(A) is None


async def test_a_cancelled_write_happens_completely(store: PostgresStore) -> None:
    writing = [asyncio.create_task(store.write(Put(Key("C", f"{n}"), {}, IfAbsent()))) for n in range(20)]
    await asyncio.sleep(0)
    for task in writing:
        task.cancel()
    outcomes = await asyncio.gather(*writing, return_exceptions=True)

    assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
    await store._operations.finish()
    assert len(await store.query("C")) == 20


async def test_writers_that_name_the_same_keys_in_another_order_do_not_deadlock(
    postgres: PostgresServer, store: PostgresStore
) -> None:
    keys = [Key("D", f"{number}") for number in range(10)]

    async def write(number: int) -> None:
        mine = keys[number % 10 :] + keys[: number % 10]
        await store.write(*(Put(key, {}, Always()) for key in (mine if number % 2 else mine[::-1])))

    await asyncio.gather(*(write(number) for number in range(60)))

    assert "deadlock" not in postgres.log()


async def test_two_writes_that_each_require_the_absence_of_the_other_do_not_both_happen(store: PostgresStore) -> None:
    for number in range(20):
        one, other = Key("E", f"{number}a"), Key("E", f"{number}b")
        outcomes = await asyncio.gather(
            store.write(Put(one, {}, IfAbsent()), Check(other, IfAbsent())),
            store.write(Put(other, {}, IfAbsent()), Check(one, IfAbsent())),
            return_exceptions=True,
        )
        assert sum(outcome is None for outcome in outcomes) == 1


@pytest.mark.slow
async def test_a_silent_server_does_not_hold_a_caller(
    postgres: PostgresServer, postgres_database: str, table: str
) -> None:
    with proxy_to(postgres.url) as (wire, url):
        port = int(url.rpartition(":")[2])
        async with opened(postgres.url_of(postgres_database, port), table) as store:
            assert await store.get(A) is None
            wire.silence()
            started = asyncio.get_running_loop().time()
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                await store.get(A)
            assert asyncio.get_running_loop().time() - started < 9
            wire.restore()
            assert await store.get(A) is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionRefusedError(), "nothing listens at the host and port in PLUGBOARD_POSTGRES_URL"),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "the host in PLUGBOARD_POSTGRES_URL has no address"),
        (TimeoutError(), "it does not answer in time"),
        (ConnectionError(), "does not offer TLS"),
        (ConnectionResetError(), "ConnectionResetError"),
    ],
)
def test_a_failure_to_connect_is_described(error: Exception, reason: str) -> None:
    failure = failure_of(error)

    assert reason in failure.text
    assert failure.is_retryable


async def test_a_wrong_password_is_named_and_not_shown(
    postgres: PostgresServer, postgres_database: str, table: str
) -> None:
    url = postgres.url_of(postgres_database).replace(PASSWORD, "canary-wrong")
    async with opened(url, table) as store:
        with pytest.raises(StoreUnavailable, match="28P01") as refused:
            await store.get(A)

    error: BaseException | None = refused.value
    while error is not None:
        assert "canary" not in f"{error!r} {error}"
        error = error.__cause__ or error.__context__


async def test_commits_wait_for_the_disk_where_the_server_is_set_not_to(store: PostgresStore) -> None:
    rows = await store.pool.run(lambda session: session.fetch("SHOW synchronous_commit"), 5)

    assert rows[0][0] == "on"  # the server of the tests has `off`


async def test_a_session_cannot_hold_its_locks_for_long(store: PostgresStore) -> None:
    rows = await store.pool.run(lambda session: session.fetch("SHOW idle_in_transaction_session_timeout"), 5)

    assert rows[0][0] == "5s"


async def test_a_connection_that_was_idle_or_open_for_long_is_not_used_again(store: PostgresStore) -> None:
    async def session(session: PostgresSession) -> PostgresSession:
        return session

    used, again = await store.pool.run(session, 5), await store.pool.run(session, 5)
    now = again.idle_since

    assert used is again
    assert again.is_usable(now + LONGEST_IDLE_SECONDS - 1)
    assert not again.is_usable(now + LONGEST_IDLE_SECONDS)
    again.idle_since = now + LONGEST_LIFE_SECONDS
    assert not again.is_usable(now + LONGEST_LIFE_SECONDS)
    again.end()
    assert await store.pool.run(session, 5) is not again


@pytest.mark.requirement("DB-06")
async def test_expired_items_are_removed_after_a_while(
    postgres: PostgresServer, postgres_database: str, table: str
) -> None:
    clock = StillClock()
    async with opened(postgres.url_of(postgres_database), table, clock=clock) as store:
        soon = int(clock.now()) + 1
        await store.write(Put(A, {}, IfAbsent(), soon), Put(B, {}, IfAbsent(), soon + 1_000))
        clock.advance(SWEEP_EVERY_SECONDS)
        await store.write(Put(Key("WS#2", "C"), {}, IfAbsent()))
        await store._operations.finish()

    left = postgres.run(f'TABLE "{table}"', database=postgres_database)
    assert [sk for pk, sk, *_ in (line.split("|") for line in left.splitlines()) if pk] == ["B", "C"]


async def test_many_expired_items_are_removed_soon(
    postgres: PostgresServer, postgres_database: str, table: str
) -> None:
    """More than one sweep removes: each write of the next seconds removes as many again."""
    clock = StillClock()
    async with opened(postgres.url_of(postgres_database), table, clock=clock) as store:
        soon = int(clock.now()) + 1
        for first in range(0, 3 * SWEEP_AT_MOST, 100):
            await store.write(*(Put(Key("WS#1", f"OLD#{first + n}"), {}, IfAbsent(), soon) for n in range(100)))
        for seconds in (SWEEP_EVERY_SECONDS, 1, 1):
            clock.advance(seconds)
            await store.write(Put(Key("WS#2", "C"), {}, Always()))
            await store._operations.finish()

    left = postgres.run(f'TABLE "{table}"', database=postgres_database)
    assert "OLD#" not in left


async def test_what_is_closed_leaves_no_connection(postgres: PostgresServer) -> None:
    database = postgres.make_database()
    table = await make_table(postgres, database)
    async with opened(postgres.url_of(database), table) as store:
        await asyncio.gather(*(store.get(A) for _ in range(20)))
        assert int(postgres.run(IDLE_OR_BUSY.format(database))) > 0

    async def none_left() -> None:
        if int(postgres.run(IDLE_OR_BUSY.format(database))):
            raise ConnectionResetError

    await retry(none_left, 10)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Self-signed, for `localhost` and the address after 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.2"))])
    created = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        .not_valid_after(dt.datetime(2120, 1, 1, tzinfo=dt.UTC))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("certificate")
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
    (folder / "certificate.pem").write_bytes(created.public_bytes(serialization.Encoding.PEM))
    return folder / "certificate.pem"


@pytest.fixture
def encrypted(postgres: PostgresServer, certificate: Path) -> Iterator[PostgresServer]:
    """The server, which offers TLS meanwhile."""
    with postgres.encrypted(certificate, certificate.with_name("key.pem")):
        yield postgres


async def reads(
    server: PostgresServer, table: str, database: str, query: str, authorities: Path | None, host: str = "localhost"
) -> str:
    url = server.url_of(database).replace("127.0.0.1", host) + query
    store = PostgresStore(parse_postgres_url(url, authorities), table)
    try:
        await store.get(A)
        rows = await store.pool.run(
            lambda session: session.fetch("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"), 5
        )
        return str(rows[0][0])
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("query", "trusts", "host"),
    [
        ("?sslmode=verify-full", True, "localhost"),
        ("?sslmode=verify-full", True, "127.0.0.2"),
        ("?sslmode=verify-ca", True, "127.0.0.1"),
        ("?sslmode=require", False, "127.0.0.1"),
        ("", True, "127.0.0.2"),
    ],
)
async def test_a_connection_is_encrypted(
    encrypted: PostgresServer,
    certificate: Path,
    table: str,
    postgres_database: str,
    query: str,
    host: str,
    *,
    trusts: bool,
) -> None:
    version = await reads(encrypted, table, postgres_database, query, certificate if trusts else None, host)

    assert version in ("TLSv1.2", "TLSv1.3")


@pytest.mark.parametrize(
    ("query", "trusts", "host", "reason"),
    [
        ("?sslmode=verify-full", True, "127.0.0.1", "IP address mismatch"),
        ("?sslmode=verify-full", False, "localhost", "self-signed"),
        ("?sslmode=verify-ca", False, "localhost", "self-signed"),
        ("", False, "127.0.0.2", "self-signed"),
    ],
)
async def test_a_certificate_that_does_not_fit_is_refused_at_once(
    encrypted: PostgresServer,
    certificate: Path,
    table: str,
    postgres_database: str,
    query: str,
    host: str,
    reason: str,
    *,
    trusts: bool,
) -> None:
    with pytest.raises(StoreUnavailable, match=f"certificate is not accepted: .*{reason}"):
        await reads(encrypted, table, postgres_database, query, certificate if trusts else None, host)


@pytest.mark.slow
async def test_a_server_that_offers_no_tls_is_refused(
    postgres: PostgresServer, postgres_database: str, table: str
) -> None:
    with pytest.raises(StoreUnavailable, match="does not offer TLS"):
        await reads(postgres, table, postgres_database, "?sslmode=require", None)


def test_the_client_accepts_no_old_tls() -> None:
    address = parse_postgres_url("postgresql://u:p@db.example.com/d")

    context = address.ssl_context(address.hosts[0])

    assert context is not None
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
