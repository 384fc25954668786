"""`plugboard store copy`: moves an installation to another store, and proves that all of it arrived.

It can be stopped and run again: what is equal already is not written again. Until a copy is complete it carries a mark,
and no server starts on it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from api.access.peppers import SYSTEM
from api.kit.clock import SystemClock
from api.kit.crypto.data_keys import HEAD, KeyRing
from api.kit.crypto.envelope import CannotOpen
from api.kit.storage.dynamodb.scan import ScannableDynamoStore
from api.kit.storage.dynamodb.store import dynamo_client
from api.kit.storage.postgres.store import PostgresStore
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.sqlite_use import is_in_use
from api.kit.storage.store import MAX_WRITE_BYTES, Always, Delete, Item, Key, Put, ScannableStore, Store
from api.main.container import COPY_MARK, DATABASE, KEY_FILE, data_dir, open_postgres, open_root_keys
from api.main.environment_check import unknown_settings
from api.main.maintenance.environment_file import read_environment_file
from api.main.settings import InvalidSetting, Settings

PAGE = 100
PROGRESS_EVERY = 10_000
SOON_SECONDS = 3600
"""Items that expire sooner are copied but not compared: they may vanish from one store first."""
MODULUS = 2**256
STOP_FIRST = "Stop all servers first: what they write from now on is not copied."


@dataclass(frozen=True, slots=True)
class Content:
    """What a store holds. The digest does not depend on the order."""

    items: int = 0
    digest: int = 0

    def plus(self, item: Item) -> Content:
        encoded = msgspec.json.encode((*item.key, item.version, item.expires_at, item.data), order="sorted")
        return Content(self.items + 1, (self.digest + int.from_bytes(hashlib.sha256(encoded).digest())) % MODULUS)


async def store_copy(settings: Settings, args: argparse.Namespace) -> None:
    target_settings = _target_settings(args.to)
    _refuse_the_same_store(settings, target_settings)
    _print(STOP_FIRST)
    _refuse_stores_in_use(settings, target_settings, is_dry_run=args.dry_run)
    async with _opened(settings, is_source=True) as source, _opened(target_settings, is_source=False) as target:
        await _check_keys(source, target_settings)
        mark = await _require_own_copy(source, target)
        if args.dry_run:
            held, _ = await _content(source)
            _print(f"{held.items} items would be copied from {settings.store} to {target_settings.store}.")
            return
        await target.write(mark)
        await _copy(source, target)
        await _remove_others(source, target)
        held = await _verified(source, target)
        await target.write(Delete(mark.key, Always()))
    _print(
        f"{held.items} items are in {target_settings.store} as they were in {settings.store}. The servers may start."
    )


def _target_settings(path: Path) -> Settings:
    given = read_environment_file(path)
    if unknown := list(unknown_settings(given)):
        raise InvalidSetting("--to", f"{path}: {' '.join(unknown)}")
    return Settings.from_environment(given)


def _refuse_the_same_store(source: Settings, target: Settings) -> None:
    if source.store != target.store:
        return
    if _place(source) == _place(target):
        raise InvalidSetting("--to", "the file names the store that is to be copied.")


def _refuse_stores_in_use(*both: Settings, is_dry_run: bool) -> None:
    """Only SQLite shows who else has it open."""
    for settings in both:
        database = settings.data_dir / DATABASE
        if settings.store != "sqlite" or not database.exists() or not is_in_use(database):
            continue
        text = f"another process has {database.absolute()} open, such as a server. Stop it, then run the command again."
        if not is_dry_run:
            raise InvalidSetting("PLUGBOARD_DATA_DIR", text)
        _print(f"Before the copy: {text}")


def _place(settings: Settings) -> tuple[object, ...]:
    match settings.store:
        case "sqlite":
            return (settings.data_dir.absolute(),)
        case "postgres":
            database = settings.postgres
            return (settings.table, database and (database.hosts, database.database))
        case "dynamodb":
            return (settings.table, settings.dynamodb_endpoint)


@asynccontextmanager
async def _opened(settings: Settings, *, is_source: bool) -> AsyncIterator[ScannableStore]:
    if is_source and settings.store == "sqlite" and not (settings.data_dir / DATABASE).exists():
        raise InvalidSetting("PLUGBOARD_DATA_DIR", f"there is no database in {settings.data_dir.absolute()}.")
    store = _open(settings)
    try:
        if isinstance(store, PostgresStore) and not is_source:
            await store.prepare()
        yield store
    finally:
        await store.close()


def _open(settings: Settings) -> ScannableStore:
    match settings.store:
        case "sqlite":
            return SqliteStore(data_dir(settings) / DATABASE)
        case "postgres":
            return open_postgres(settings, SystemClock())
        case "dynamodb":
            return ScannableDynamoStore(dynamo_client(settings.dynamodb_endpoint), settings.table)


async def _check_keys(source: Store, target: Settings) -> None:
    """The target's root keys must open what is copied. A new key file would open none of it, so none is made."""
    has_key = target.root_key or target.kms_key_id or (target.data_dir / KEY_FILE).exists()
    if target.store == "sqlite" and not has_key:
        raise InvalidSetting("PLUGBOARD_ROOT_KEY", f"put the root key of the source into {target.data_dir / KEY_FILE}.")
    roots = open_root_keys(target)
    try:
        await KeyRing(source, roots, SystemClock()).active(SYSTEM)
    except CannotOpen as error:
        text = f"the root keys in the file of --to do not open the data keys of the source: {error}."
        raise InvalidSetting("PLUGBOARD_ROOT_KEY", text) from error
    finally:
        roots.close()


async def _require_own_copy(source: Store, target: ScannableStore) -> Put:
    """The mark of this source's copies. The target must be empty, or have the mark from an earlier run."""
    if await source.get(COPY_MARK):
        raise InvalidSetting("PLUGBOARD_STORE", "the store to copy is itself an unfinished copy.")
    first_key = await source.get(Key(SYSTEM, f"{HEAD}#000001"))
    data = {"source": hashlib.sha256(msgspec.json.encode(first_key.data if first_key else None)).hexdigest()}
    mark = await target.get(COPY_MARK)
    if mark is None and await target.scan(1):
        raise InvalidSetting("--to", "the store is not empty, so nothing is copied there; name an empty one.")
    if mark is not None and mark.data != data:
        raise InvalidSetting("--to", "the store holds the unfinished copy of another installation.")
    return Put(COPY_MARK, data, Always())


async def _copy(source: ScannableStore, target: Store) -> None:
    done = 0
    async for page in _pages(source):
        present = await target.get_many([item.key for item in page])
        for batch in _batches([item for item in page if present.get(item.key) != item]):
            await target.write(*map(Put.copy_of, batch))
        done += len(page)
        if done % PROGRESS_EVERY < PAGE <= done:
            _print(f"{done} items")


async def _remove_others(source: Store, target: ScannableStore) -> None:
    """Items that were deleted from the source after an earlier run had copied them."""
    async for page in _pages(target):
        present = await source.get_many([item.key for item in page])
        deleted = [item.key for item in page if item.key not in present and item.key != COPY_MARK]
        if deleted:
            await target.write(*(Delete(key, Always()) for key in deleted))


async def _verified(source: ScannableStore, target: ScannableStore) -> Content:
    all_items, held = await _content(source)
    _, copied = await _content(target)
    if held != copied:
        text = f"the source has {held.items} items, the copy {copied.items}, or one differs: "
        raise InvalidSetting("--to", f"{text}stop all servers of the source and run the command again.")
    return all_items


async def _content(store: ScannableStore) -> tuple[Content, Content]:
    """All items, and those that do not expire soon."""
    every, lasting, soon = Content(), Content(), SystemClock().now() + SOON_SECONDS
    async for page in _pages(store):
        for item in (item for item in page if item.key != COPY_MARK):
            every = every.plus(item)
            lasting = lasting.plus(item) if item.expires_at is None or item.expires_at > soon else lasting
    return every, lasting


async def _pages(store: ScannableStore) -> AsyncIterator[list[Item]]:
    page = await store.scan(PAGE)
    while page:
        yield page
        page = await store.scan(PAGE, page[-1].key) if len(page) == PAGE else []


def _batches(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Batches that fit into one write."""
    batch: list[Item] = []
    for item in items:
        if batch and sum(other.size for other in batch) + item.size > MAX_WRITE_BYTES // 2:
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
