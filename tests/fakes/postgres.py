"""A real PostgreSQL server for tests: Debian's, started on a free port in a directory of its own.

The server refuses to run as root. Where the tests do, it runs as the user that Debian's package creates.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from api.kit.storage.postgres.store import PostgresStore
from api.main.postgres_url import parse_postgres_url
from tests.fakes.connect_recorder import STAND_INS

NO_POSTGRES = "PostgreSQL is not installed: run `apt-get install postgresql`"
USER, PASSWORD = "plugboard", "canary-postgres"
PATIENCE_SECONDS = 60
QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
"""For tests that kill no server."""


@cache
def binaries() -> Path | None:
    """The newest installed version's programs."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = folders[-1] if folders else shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def postgres_is_installed() -> bool:
    return binaries() is not None and (os.getuid() != 0 or _debian_user() is not None)


def _debian_user() -> pwd.struct_passwd | None:
    return next((user for user in pwd.getpwall() if user.pw_name == "postgres"), None)


@dataclass
class PostgresServer:
    folder: Path
    port: int
    settings: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    def url_of(self, database: str, port: int | None = None, user: str = USER) -> str:
        return f"postgresql://{user}:{PASSWORD}@127.0.0.1:{port or self.port}/{database}"

    def start(self) -> None:
        options = [f"-c{setting}" for setting in (*self.settings, f"port={self.port}")]
        log = (self.folder / "log").open("ab")
        with log:
            self.process = _popen("postgres", "-D", str(self.folder / "data"), *options, stdout=log, stderr=log)
        self._wait_until_ready()

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends connections and stops; SIGQUIT stops as a crash does; SIGKILL is a crash."""
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(PATIENCE_SECONDS)

    def restart(self, number: signal.Signals = signal.SIGQUIT) -> None:
        self.stop(number)
        self.start()

    @contextmanager
    def encrypted(self, certificate: Path, key: Path) -> Iterator[None]:
        """Offers TLS meanwhile."""
        for source, name in ((certificate, "server.crt"), (key, "server.key")):
            target = self.folder / "data" / name
            target.write_bytes(source.read_bytes())
            target.chmod(0o600)
            if user := _server_user():
                os.chown(target, user.pw_uid, user.pw_gid)
        self._reload("ON")
        try:
            yield
        finally:
            self._reload("OFF")

    def _reload(self, tls: str) -> None:
        self.run(f"ALTER SYSTEM SET ssl = {tls}", "SELECT pg_reload_conf()")
        while self.run("SHOW ssl") != tls.lower():  # the reload takes a moment
            pass

    def log(self) -> str:
        return (self.folder / "log").read_text()

    @contextmanager
    def standby(self) -> Iterator[PostgresServer]:
        """A second server that follows this one."""
        folder = _server_folder()
        source = f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.port}/postgres"
        options = ["-R", "-D", str(folder / "data"), "-d", source, "--checkpoint=fast", "--no-sync"]
        with _popen("pg_basebackup", *options) as process:
            assert process.wait(PATIENCE_SECONDS) == 0
        server = PostgresServer(folder, _free_port(), _settings(folder, ()))
        with _running(server):
            yield server

    def promote(self) -> None:
        self.run("SELECT pg_promote()")

    def make_database(self) -> str:
        """The name of a new database, which the user of the tests owns."""
        name = f"test_{uuid.uuid4().hex}"
        self.run(f"CREATE DATABASE {name} OWNER {USER}")
        return name

    def run(self, *statements: str, database: str = "postgres", user: str = "postgres") -> str:
        commands = [argument for statement in statements for argument in ("-c", statement)]
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", user, "-d", database]
        environment = {"PATH": os.environ["PATH"], "PGPASSWORD": PASSWORD}
        return subprocess.run(
            [_program("psql"), "-X", "-q", "-A", "-t", *where, *commands],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        ).stdout.strip()

    def _wait_until_ready(self) -> None:
        pause = threading.Event()
        for _ in range(PATIENCE_SECONDS * 50):
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            if _call("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)) == 0:
                return
            pause.wait(0.02)
        raise AssertionError(self.log())


@contextmanager
def postgres_server(*settings: str) -> Iterator[PostgresServer]:
    """A server on a free port; `settings` are those of postgresql.conf."""
    folder = _server_folder()
    server = PostgresServer(folder, _free_port(), _settings(folder, settings))
    with _running(server):
        server.run(f"SET synchronous_commit = local; CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'")
        yield server


def _server_folder() -> Path:
    folder = Path(mkdtemp(prefix="plugboard-postgres-"))
    if user := _server_user():
        os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


@contextmanager
def _running(server: PostgresServer) -> Iterator[None]:
    try:
        if not (server.folder / "data").exists():
            _make_cluster(server.folder)
        server.start()
        STAND_INS.add(server.port)
        yield
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


def new_store(server: PostgresServer, database: str, table: str, clock: Any = None) -> PostgresStore:
    return PostgresStore(parse_postgres_url(server.url_of(database)), table, clock, connections=8)


async def make_table(server: PostgresServer, database: str) -> str:
    """A table of a test's own."""
    name = f"test-{uuid.uuid4().hex}"
    store = new_store(server, database, name)
    assert await store.prepare()
    await store.close()
    return name


def _settings(folder: Path, settings: tuple[str, ...]) -> tuple[str, ...]:
    return (
        "listen_addresses=127.0.0.1,127.0.0.2",
        f"unix_socket_directories={folder}",
        "max_connections=200",
        *settings,
    )


def _make_cluster(folder: Path) -> None:
    (folder / "password").write_text(PASSWORD)
    (folder / "password").chmod(0o644)
    options = ["--no-sync", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--username=postgres"]
    password = f"--pwfile={folder / 'password'}"
    with _popen("initdb", *options, password, str(folder / "data"), stdout=subprocess.DEVNULL) as process:
        assert process.wait(PATIENCE_SECONDS) == 0


def _server_user() -> pwd.struct_passwd | None:
    return _debian_user() if os.getuid() == 0 else None


def _popen(program: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    if user := _server_user():
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return subprocess.Popen([_program(program), *arguments], cwd="/", **options)


def _call(program: str, *arguments: str) -> int:
    return subprocess.call([_program(program), *arguments], stdout=subprocess.DEVNULL, timeout=PATIENCE_SECONDS)


def _program(name: str) -> str:
    folder = binaries()
    assert folder is not None, NO_POSTGRES
    return str(folder / name)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
