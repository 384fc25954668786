"""The log: one JSON object per line, with the fields of an allowlist.

A field that is not on the list is dropped. Of an exception only its type and where it was raised are written, since its
text may repeat what a caller sent.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from collections.abc import Mapping
from functools import lru_cache
from typing import TextIO

import msgspec
from msgspec import UNSET, UnsetType

from api.kit.clock import Clock, SystemClock, rfc3339

FIELDS = (
    *("request_id", "method", "route", "status", "bytes", "ms", "client_address", "workspace", "key"),
    *("server", "agent", "outcome", "cause", "detail"),
)

_encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = _line(record.created, record.levelname.lower(), record.name, record.getMessage(), record.__dict__)
        if record.exc_info and record.exc_info[1]:
            line["error"] = type(record.exc_info[1]).__qualname__
            line["where"] = _frames(record.exc_info[1])
        return _encode(line).decode()


class RequestLine(msgspec.Struct):
    """The line of one request; fields that are not set are left out. Its fields are all on the allowlist."""

    at: str = ""
    level: str = "info"
    logger: str = "plugboard.request"
    message: str = "request"
    request_id: str | UnsetType = UNSET
    method: str | UnsetType = UNSET
    route: str | UnsetType = UNSET
    status: int | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    ms: float | UnsetType = UNSET
    client_address: str | UnsetType = UNSET
    workspace: str | UnsetType = UNSET
    key: str | UnsetType = UNSET
    outcome: str | UnsetType = UNSET


class RequestLog:
    """A line for each request. Lines of one turn of the event loop are written together, because `logging` would cost
    each request more than reading the store."""

    def __init__(self, stream: TextIO | None = None, clock: Clock | None = None) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock or SystemClock()
        self._waiting: list[bytes] = []

    def __call__(self, line: RequestLine) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._write)
        line.at = _timestamp(self._clock.now())
        self._waiting.append(_encode(line))

    def _write(self) -> None:
        text = b"\n".join(self._waiting).decode()
        self._waiting.clear()
        self._stream.write(f"{text}\n")
        self._stream.flush()


def configure(stream: TextIO | None = None) -> None:
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # collected, but never written
    for noisy in ("botocore", "boto3", "urllib3", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _line(at: float, level: str, logger: str, message: str, fields: Mapping[str, object]) -> dict[str, object]:
    line: dict[str, object] = {
        "at": _timestamp(at),
        "level": level,
        "logger": logger,
        "message": message,
    }
    for name in FIELDS:
        value = fields.get(name)
        if value is not None:
            line[name] = value
    return line


def _timestamp(at: float) -> str:
    return f"{_second(int(at))}.{int(at * 1000) % 1000:03d}Z"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    """Most lines of a busy process have the same second."""
    return rfc3339(seconds).partition(".")[0]


def _frames(error: BaseException) -> list[str]:
    return [f"{frame.name} {frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
