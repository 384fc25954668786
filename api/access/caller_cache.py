"""Whose header is this? Remembered for as long as nothing in the owner's partition has changed.

A key that was checked need not be parsed, looked up and hashed again while the partition's revision stands: revoking it
writes a new revision. What is kept is a digest of the header, not the key.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

from api.access.context import Caller
from api.kit.storage.revision_cache import Snapshot

REMEMBERED_CALLERS = 10_000


@dataclass(frozen=True, slots=True)
class CachedCaller:
    revision: int
    caller: Caller


class CallerCache:
    def __init__(self, at_most: int = REMEMBERED_CALLERS) -> None:
        self._at_most = at_most
        self._known: OrderedDict[bytes, CachedCaller] = OrderedDict()

    def get(self, partition: str, authorization: str) -> CachedCaller | None:
        return self._known.get(_digest(partition, authorization))

    def remember(self, snapshot: Snapshot, authorization: str, caller: Caller) -> None:
        header = _digest(snapshot.partition, authorization)
        self._known.pop(header, None)
        if len(self._known) >= self._at_most:
            self._known.popitem(last=False)
        self._known[header] = CachedCaller(snapshot.revision, caller)


def _digest(partition: str, authorization: str) -> bytes:
    return hashlib.sha256(f"{partition} {authorization}".encode()).digest()
