"""Retries of operations on PostgreSQL, and the meaning of their failures."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import asyncpg

from api.kit.backoff import Backoff
from api.kit.storage.postgres.connections import FAILURES
from api.kit.storage.store import StoreUnavailable

READ_PATIENCE_SECONDS = 5.0
WRITE_PATIENCE_SECONDS = 10.0
PAUSES = Backoff(first=0.05, longest=1.0, jitter=(0, 1))

CONTENDED = ("40001", "40P01", "55P03", "57014")  # serialization failure, deadlock, a wait for a lock that was too long
REFUSED_FOR_NOW = ("08", "57P01", "57P02", "57P03", "53300", "25006")
"""A lost connection, a server that stops or starts, no free connection, a server that became a standby."""

HINTS = {
    "28000": ": check the user and the password in PLUGBOARD_POSTGRES_URL",
    "28P01": ": check the user and the password in PLUGBOARD_POSTGRES_URL",
    "3D000": ": the database in PLUGBOARD_POSTGRES_URL does not exist",
    "42501": ": the user needs the right to create a table in its schema, and to read and write it",
    "42P01": ": no such table. Check PLUGBOARD_TABLE, or run `plugboard table create`",
}
REASONS = {
    ConnectionRefusedError: "nothing listens at the host and port in PLUGBOARD_POSTGRES_URL. Is the server running?",
    socket.gaierror: "the host in PLUGBOARD_POSTGRES_URL has no address",
    TimeoutError: "it does not answer in time",
}

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class PostgresFailure:
    text: str
    is_retryable: bool


async def retry(attempt: Callable[[], Awaitable[Result]], patience: float) -> Result:
    """Returns the result of `attempt`. Raises `StoreUnavailable` after the last retry.

    The failure is no context of the error, because it may quote what was sent.
    """
    loop = asyncio.get_running_loop()
    deadline, failures = loop.time() + patience, 0
    while True:
        try:
            return await attempt()
        except FAILURES as error:
            failure = failure_of(error)
        pause = PAUSES.pause(failures)
        if not failure.is_retryable or loop.time() + pause >= deadline:
            raise StoreUnavailable(failure.text)
        failures += 1
        await asyncio.sleep(pause)


def failure_of(error: Exception) -> PostgresFailure:
    match error:
        case asyncpg.PostgresError():
            return _answer(error)
        case ssl.SSLCertVerificationError():
            text = f"PostgreSQL's certificate is not accepted: {error.verify_message}"
            return PostgresFailure(text, is_retryable=False)
        case ValueError():
            return PostgresFailure(f"PostgreSQL was not asked: {type(error).__name__}", is_retryable=False)
        case _:
            return PostgresFailure(f"PostgreSQL cannot be reached: {_reason(error)}", is_retryable=True)


def _reason(error: Exception) -> str:
    if isinstance(error, asyncpg.InternalClientError):
        return "no host accepts writes"
    if type(error) is ConnectionError:  # asyncpg's own
        return "it closes the connection, or does not offer TLS"
    return next((reason for kind, reason in REASONS.items() if isinstance(error, kind)), type(error).__name__)


def _answer(error: asyncpg.PostgresError) -> PostgresFailure:
    """The server's own sentence is left out: it may quote data."""
    state: str = getattr(error, "sqlstate", None) or "no code"
    text = f"PostgreSQL answered {state} ({type(error).__name__}){HINTS.get(state, '')}"
    return PostgresFailure(text, is_retryable=state.startswith((*CONTENDED, *REFUSED_FOR_NOW)))
