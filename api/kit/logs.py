"""Writes the log: a JSON object a line, made of the fields on a list and nothing else.

What a log line may hold is listed, not what it may not: a field that is not on the list is dropped, and of an exception
only its type and where it was raised are written, since its text may repeat what a caller sent.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from typing import TextIO

from api.kit.clock import rfc3339

FIELDS = ("request_id", "method", "route", "status", "ms", "workspace", "key", "detail")


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": rfc3339(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name in FIELDS if (value := record.__dict__.get(name)) is not None}
        if record.exc_info and record.exc_info[1]:
            line["error"] = type(record.exc_info[1]).__qualname__
            line["where"] = _frames(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def configure(stream: TextIO | None = None) -> None:
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for noisy in ("botocore", "boto3", "urllib3", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _frames(error: BaseException) -> list[str]:
    return [f"{frame.name} {frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
