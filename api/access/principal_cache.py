"""Authenticated principals by a digest of their credentials, valid while the partition keeps its revision.

A cached principal needs no parsing, lookup or hashing. Revoking it writes a new revision. The cache holds a digest of
the credentials, never the credentials.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from api.access.principal import Principal
from api.kit.lru import LruCache
from api.kit.storage.revision_cache import Snapshot

MAX_PRINCIPALS = 10_000


@dataclass(frozen=True, slots=True)
class CachedPrincipal:
    revision: int
    principal: Principal


class PrincipalCache:
    def __init__(self, at_most: int = MAX_PRINCIPALS) -> None:
        self._entries: LruCache[bytes, CachedPrincipal] = LruCache(at_most)

    def get(self, partition: str, credentials: str) -> CachedPrincipal | None:
        return self._entries.get(_digest(partition, credentials))

    def put(self, snapshot: Snapshot, credentials: str, principal: Principal) -> None:
        self._entries.put(_digest(snapshot.partition, credentials), CachedPrincipal(snapshot.revision, principal))


def _digest(partition: str, credentials: str) -> bytes:
    return hashlib.blake2b(f"{partition} {credentials}".encode(), digest_size=32).digest()
