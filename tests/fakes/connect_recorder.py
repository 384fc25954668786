"""Records the connections that this process attempts, with an audit hook of Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_recorders: list[list[tuple[str, int]]] = []


def _record(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _recorders and isinstance(arguments[1], tuple):
        for seen in _recorders:
            seen.append((str(arguments[1][0]), int(arguments[1][1])))


sys.addaudithook(_record)  # an audit hook cannot be removed


STAND_INS: set[int] = set()
"""Ports of databases that any Plugboard of this process may connect to at any time, for its background jobs."""


@contextmanager
def connections_except(*ports: int) -> Iterator[list[tuple[str, int]]]:
    """Records attempted connections, except those to the given ports."""
    seen: list[tuple[str, int]] = []
    _recorders.append(seen)
    try:
        yield seen
    finally:
        _recorders.remove(seen)
        seen[:] = [item for item in seen if item[1] not in STAND_INS.union(ports)]
