from pathlib import Path

from api.access.caller_cache import CallerCache
from api.access.context import Caller, Scope
from api.kit.storage.revision_cache import RevisionCache, Snapshot
from api.kit.storage.sqlite import SqliteStore


async def test_a_caller_who_is_checked_anew_takes_nobody_elses_room(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "plugboard.db")
    before, after = (Snapshot("WS#w", revision, RevisionCache(store)) for revision in (1, 2))
    known, caller = CallerCache(at_most=2), Caller("key_1", "CI", Scope.READ)
    for header in ("Bearer a", "Bearer b"):
        known.remember(before, header, caller)

    known.remember(after, "Bearer b", caller)

    found = {header: known.get("WS#w", header) for header in ("Bearer a", "Bearer b")}
    assert {header: each and each.revision for header, each in found.items()} == {"Bearer a": 1, "Bearer b": 2}
    await store.close()
