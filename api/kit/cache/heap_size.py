"""The memory that a decoded JSON value takes."""

from __future__ import annotations

from sys import getsizeof
from typing import Any


def heap_size(value: Any) -> int:
    """In bytes. A value that is there twice counts twice. Not recursive: others choose the depth."""
    size, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        size += getsizeof(part)
        if isinstance(part, dict):
            waiting += part
            waiting += part.values()
        elif isinstance(part, list | tuple | frozenset):
            waiting += part
    return size
