"""Authenticated principals by a digest of their credentials, valid while the partition keeps its revision.

A cached principal needs no parsing, lookup or hashing. Revoking it writes a new revision. The cache holds a digest of
the credentials, never the credentials.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from api.access.principal import Principal
from api.kit.cache.heap_size import heap_size
from api.kit.cache.memory import CacheMemory, OwnedCache
from api.kit.storage.revision_cache import Snapshot

PRINCIPAL_BYTES = 1500
"""Of a principal that is not limited to agents."""


@dataclass(frozen=True, slots=True)
class CachedPrincipal:
    revision: int
    principal: Principal


class PrincipalCache:
    def __init__(self, memory: CacheMemory | None = None) -> None:
        self._entries: OwnedCache[bytes, CachedPrincipal] = OwnedCache(memory or CacheMemory(), "principals")

    def get(self, partition: str, credentials: str) -> CachedPrincipal | None:
        return self._entries.get(_digest(partition, credentials))

    def put(self, snapshot: Snapshot, credentials: str, principal: Principal) -> None:
        digest, size = _digest(snapshot.partition, credentials), PRINCIPAL_BYTES + heap_size(principal.agent_ids)
        self._entries.put(snapshot.partition, digest, CachedPrincipal(snapshot.revision, principal), size)


def _digest(partition: str, credentials: str) -> bytes:
    return hashlib.blake2b(f"{partition} {credentials}".encode(), digest_size=32).digest()
