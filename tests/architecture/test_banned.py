"""Some things are done in one place only, and some nowhere."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.architecture.modules import bullet_list, modules, used_names

CODE = ("api", "integrations")


@dataclass(frozen=True)
class Ban:
    """Names, themselves or as the beginning of longer ones, and the files that may use them, each for its reason."""

    names: tuple[str, ...]
    instead: str
    allowed: Mapping[str, str]


ENVIRONMENT = Ban(
    ("os.environ", "os.getenv", "os.putenv", "os.environb"),
    "api/main/settings.py reads what it is given; only what starts a process looks at the environment",
    {"api/main/cli.py": "starts a process", "api/main/asgi.py": "starts a process"},
)
AWS = Ban(
    ("boto3", "botocore"),
    "what boto3 is and raises stays behind the ports Store and RootKeys",
    {
        "api/kit/storage/dynamodb/store.py": "the store on DynamoDB",
        "api/kit/storage/dynamodb/retries.py": "its calls and what can go wrong with them",
        "api/kit/crypto/kms_root_keys.py": "the root key in KMS",
        "api/kit/storage/dynamodb/table.py": "makes the table",
    },
)
POSTGRES = Ban(
    ("asyncpg",),
    "what asyncpg is and raises stays behind the port Store",
    {
        "api/kit/storage/postgres/connections.py": "makes the connections",
        "api/kit/storage/postgres/retries.py": "what can go wrong with them",
    },
)
CLIENTS = Ban(
    (
        *("httpx", "httpx2", "httpcore", "requests", "urllib3", "aiohttp", "urllib.request", "http.client"),
        *("socket.create_connection", "socket.socket", "asyncio.open_connection", "telnetlib", "ftplib", "smtplib"),
    ),
    "one place makes connections to elsewhere, and judges each of them: api/kit/http_client/dialer.py",
    {
        "api/kit/http_client/dialer.py": "that place",
        "api/main/server_process.py": "asks whether it can listen on an address; connects to nobody",
    },
)
CLOCK = Ban(
    (
        *("time.time", "time.time_ns", "time.localtime", "time.gmtime", "datetime.datetime.now"),
        *("datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
    ),
    "ask the Clock that you were given",
    {"api/kit/clock.py": "the Clock"},
)
OUTPUT = Ban(("print", "pprint"), "write to the log, or say it with `_say`", {})
DANGER = Ban(
    ("eval", "exec", "pickle", "marshal", "shelve", "os.system", "os.popen", "subprocess"),
    "nothing here runs, or revives, what came as data",
    {},
)
MOCKS = Ban(("unittest.mock", "mock", "pytest_mock"), "a fake speaks at the wire; nothing of ours is patched", {})

BANS = {
    "environment": ENVIRONMENT,
    "AWS": AWS,
    "PostgreSQL": POSTGRES,
    "clients": CLIENTS,
    "clock": CLOCK,
    "output": OUTPUT,
    "danger": DANGER,
}


def mentions(source: str, name: str) -> bool:
    """Whatever else it is called in a file, its last word is in the text, which is quicker to see than to parse."""
    return name.rpartition(".")[2] in source


def breaches(ban: Ban, source: str) -> set[str]:
    if not any(mentions(source, name) for name in ban.names):
        return set()
    return {
        used for used in used_names(source) if any(used == name or used.startswith(f"{name}.") for name in ban.names)
    }


def breaches_in_code(ban: Ban, *folders: str) -> dict[str, set[str]]:
    return {module.path: names for module in modules(*folders) if (names := breaches(ban, module.source))}


@pytest.mark.parametrize("ban", [pytest.param(ban, id=name) for name, ban in BANS.items() if ban is not CLIENTS])
def test_restricted_calls_appear_only_in_their_module(ban: Ban) -> None:
    elsewhere = {path: names for path, names in breaches_in_code(ban, *CODE).items() if path not in ban.allowed}

    assert not elsewhere, f"{ban.instead}: {elsewhere}"


@pytest.mark.requirement("EGR-01")
def test_only_one_module_opens_outgoing_connections() -> None:
    elsewhere = {path: names for path, names in breaches_in_code(CLIENTS, *CODE).items() if path not in CLIENTS.allowed}

    assert not elsewhere, f"{CLIENTS.instead}: {elsewhere}"


def test_nothing_of_ours_is_mocked() -> None:
    assert breaches_in_code(MOCKS, "api", "integrations", "tests", "bench") == {}


def test_no_attribute_of_ours_is_set_by_a_test() -> None:
    setters = {
        f"{module.path}: {name}"
        for module in modules("tests")
        if "setattr" in module.source
        for name in used_names(module.source)
        if name in ("monkeypatch.setattr", "pytest.MonkeyPatch.setattr", "setattr")
    }

    assert not setters, bullet_list(setters)


@pytest.mark.parametrize("ban", [ENVIRONMENT, AWS, POSTGRES, CLOCK], ids=["environment", "AWS", "PostgreSQL", "clock"])
def test_every_exemption_is_needed(ban: Ban) -> None:
    assert ban.allowed.keys() == breaches_in_code(ban, *CODE).keys()


@pytest.mark.parametrize(
    ("ban", "source"),
    [
        (ENVIRONMENT, "import os\nx = os.environ['A']"),
        (ENVIRONMENT, "from os import environ\nx = environ.get('A')"),
        (ENVIRONMENT, "from os import getenv as g\nx = g('A')"),
        (ENVIRONMENT, "import os as o\nx = o.getenv('A')"),
        (AWS, "import boto3"),
        (AWS, "from botocore.exceptions import ClientError"),
        (AWS, "def f():\n    import boto3.session"),
        (POSTGRES, "from asyncpg import connect"),
        (CLIENTS, "import httpx"),
        (CLIENTS, "import httpx2 as http"),
        (CLIENTS, "from requests import get"),
        (CLIENTS, "import urllib.request"),
        (CLIENTS, "from urllib.request import urlopen"),
        (CLIENTS, "from urllib import request"),
        (CLIENTS, "import socket\ns = socket.create_connection(('a', 1))"),
        (CLIENTS, "from socket import create_connection as c"),
        (CLIENTS, "import asyncio\nasync def f():\n    await asyncio.open_connection('a', 1)"),
        (CLOCK, "import time\nx = time.time()"),
        (CLOCK, "from time import time\nx = time()"),
        (CLOCK, "from datetime import UTC, datetime\nx = datetime.now(UTC)"),
        (CLOCK, "import datetime as d\nx = d.datetime.utcnow()"),
        (CLOCK, "from datetime import date\nx = date.today()"),
        (OUTPUT, "print('x')"),
        (OUTPUT, "say = print"),
        (DANGER, "import pickle"),
        (DANGER, "x = eval('1')"),
        (MOCKS, "from unittest import mock"),
        (MOCKS, "from unittest.mock import patch"),
        (MOCKS, "import unittest.mock as m"),
    ],
)
def test_every_circumvention_of_a_ban_is_detected(ban: Ban, source: str) -> None:
    assert breaches(ban, source)


@pytest.mark.parametrize(
    ("ban", "source"),
    [
        (ENVIRONMENT, "def f(environment): return environment['A']"),
        (CLIENTS, "from urllib.parse import urlsplit"),
        (CLIENTS, "import socket\nx = socket.AF_INET"),
        (CLOCK, "import time\nx = time.monotonic()"),
        (CLOCK, "from datetime import datetime\nx = datetime.fromisoformat('2026-11-18')"),
        (OUTPUT, "x = 'print()'  # print()"),
        (DANGER, "import yaml\nx = yaml.safe_load('a')"),
        (DANGER, "retrieval = evaluate('exec')"),
        (AWS, "x = 'boto3'"),
    ],
)
def test_harmless_lookalikes_are_accepted(ban: Ban, source: str) -> None:
    assert not breaches(ban, source)
