"""Counting of the keys that values are sealed under, and resealing under the newest keys.

Sealed values are in `data["sealed"]` of an item, by field. A rewrap may be stopped at any moment and run again: it
reads what is stored and keeps no state, and its writes raise `Conflict` if another process wrote first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from api.kit.crypto.data_keys import KeyRing, KeyRingState, version_of
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.vault import Sealed, Sealer, SecretLocation, Vault
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Change, IfVersion, Item, Key, Put, Store

SEALED = "sealed"
RESEALS = "reseals"
"""The field that counts how often an item was resealed: its readers can tell this from a change."""
PAGE = 100

Announcement = Callable[[], Sequence[Change]]
"""Creates the changes that make other processes drop their caches. Called for each write, so that each is new."""


class SealedUnder(NamedTuple):
    """The keys that a value is sealed under."""

    root: str | None  # None: the data key does not exist
    version: int | None  # None: not a sealed value


@dataclass(frozen=True, slots=True)
class KeyUsage:
    """The numbers of values in a partition by the keys that they are sealed under."""

    partition: str
    newest: SealedUnder
    values: Mapping[SealedUnder, int]
    data_keys: Mapping[str, int]  # by the root key that wraps them

    @property
    def old(self) -> int:
        return sum(number for under, number in self.values.items() if under != self.newest)

    @property
    def old_data_keys(self) -> int:
        return sum(number for root, number in self.data_keys.items() if root != self.newest.root)


@dataclass(frozen=True, slots=True)
class ReencryptionResult:
    rewrapped_keys: int
    resealed_values: int
    retired_keys: int
    left: KeyUsage


async def count(store: Store, keyring: KeyRing, partition: str) -> KeyUsage:
    return await _count(store, keyring, partition, await keyring.head(partition))


async def rewrap(store: Store, keyring: KeyRing, partition: str, announce: Announcement = tuple) -> ReencryptionResult:
    """Wraps data keys with the sealing root key, seals values with the active data key, and destroys old data keys.

    Values that cannot be opened stay as they are, are counted in `left`, and keep the old keys alive.
    """
    rewrapped = await keyring.rewrap(partition)
    resealed = await _reseal_all(store, Vault(keyring), partition, announce)
    retire = partial(_retire, store, keyring, partition, announce)
    retired, left = await retry_on_conflict(retire)
    return ReencryptionResult(rewrapped, resealed, retired, left)


async def _count(store: Store, keyring: KeyRing, partition: str, head: KeyRingState) -> KeyUsage:
    roots = {version_of(item): str(item.data["root"]) for item in await keyring.keys(partition)}
    versions = Counter([version async for item in _items(store, partition) for version in _versions(item)])
    values = {SealedUnder(roots.get(version or 0), version): number for version, number in versions.items()}
    newest = SealedUnder(keyring.sealing_root, head.active)
    return KeyUsage(partition, newest, values, Counter(roots.values()))


async def _reseal_all(store: Store, vault: Vault, partition: str, announce: Announcement) -> int:
    active = (await vault.sealer(partition)).version
    resealed = 0
    async for item in _items(store, partition):
        if any(version != active for version in _versions(item)):
            resealed += await retry_on_conflict(partial(_reseal, store, vault, item.key, announce))
    return resealed


async def _reseal(store: Store, vault: Vault, key: Key, announce: Announcement) -> int:
    sealing, item = await vault.sealer(key.pk), await store.get(key)
    if item is None:
        return 0
    before = _sealed_values(item)
    after = {
        field: await _newest(vault, sealing, SecretLocation(key.sk, field), text) for field, text in before.items()
    }
    changed = sum(after[field] != before[field] for field in before)
    if changed:
        data = {**item.data, SEALED: after, RESEALS: item.data.get(RESEALS, 0) + 1}
        await store.write(Put(key, data, IfVersion(item.version), item.expires_at), sealing.guard, *announce())
    return changed


async def _newest(vault: Vault, sealing: Sealer, location: SecretLocation, text: str) -> str:
    try:
        sealed = Sealed.parse(text)
        return text if sealed.version == sealing.version else (await vault.reseal(sealing, location, sealed)).text
    except CannotOpen:
        return text  # stays as it is: a value destroyed here could never be recovered


async def _retire(store: Store, keyring: KeyRing, partition: str, announce: Announcement) -> tuple[int, KeyUsage]:
    head = await keyring.head(partition)
    left = await _count(store, keyring, partition, head)
    retired = 0 if left.old else await keyring.retire(partition, head, *announce())
    return retired, left


async def _items(store: Store, partition: str) -> AsyncIterator[Item]:
    after: str | None = None
    while page := await store.query(partition, limit=PAGE, after=after):
        for item in page:
            yield item
        after = page[-1].key.sk


def _sealed_values(item: Item) -> Mapping[str, str]:
    sealed: Mapping[str, str] = item.data.get(SEALED, {})
    return sealed


def _versions(item: Item) -> list[int | None]:
    return [_version(text) for text in _sealed_values(item).values()]


def _version(text: str) -> int | None:
    try:
        return Sealed.parse(text).version
    except CannotOpen:
        return None
