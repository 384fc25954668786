from pathlib import Path

from api.access.principal import Principal, Scope
from api.access.principal_cache import PRINCIPAL_BYTES, PrincipalCache
from api.kit.cache.memory import ENTRY_BYTES, CacheMemory
from api.kit.storage.revision_cache import RevisionCache, Snapshot
from api.kit.storage.sqlite import SqliteStore


async def test_a_replaced_entry_evicts_no_other_principal(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "plugboard.db")
    memory = CacheMemory(owner_bytes=2 * PRINCIPAL_BYTES + 3 * ENTRY_BYTES)
    before, after = (Snapshot("WS#w", revision, RevisionCache(store)) for revision in (1, 2))
    cache, principal = PrincipalCache(memory), Principal("api_key", "key_1", "CI", Scope.READ)
    for header in ("Bearer a", "Bearer b"):
        cache.put(before, header, principal)

    cache.put(after, "Bearer b", principal)

    by_name = {header: cache.get("WS#w", header) for header in ("Bearer a", "Bearer b")}
    assert {header: item and item.revision for header, item in by_name.items()} == {"Bearer a": 1, "Bearer b": 2}
    await store.close()
