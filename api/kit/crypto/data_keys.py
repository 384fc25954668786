"""The data keys of an owner's partition: creation, rotation, rewrapping and destruction.

`DATAKEY` names the version that seals and the lowest version that still opens; `DATAKEY#000001` and so on hold the
versions, wrapped by a root key. Opened keys are cached for a few minutes and stored nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from api.kit.cache.lru import LruCache
from api.kit.clock import Clock, rfc3339
from api.kit.crypto.envelope import CannotOpen, from_text, to_text
from api.kit.crypto.root_keys import RootKeys, WrappedKey
from api.kit.crypto.secret import Secret
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.records import NOT_STORED, Record
from api.kit.storage.store import Change, Check, Conflict, Delete, IfAbsent, IfPresent, IfVersion, Item, Key, Put, Store
from api.kit.tasks import SingleFlight

HEAD = "DATAKEY"
TTL_SECONDS = 300.0
MAX_VERSIONS = 50  # one write must be able to destroy all of them and change other items too
REMEMBERED_KEYS = 10_000
REMEMBERED_UNREADABLE = 100


class NoDataKey(Exception):
    """The partition has no keys, because its owner does not exist or no longer exists."""


class TooManyDataKeys(Exception):
    def __init__(self) -> None:
        super().__init__(f"there are {MAX_VERSIONS} data keys already; finish a rewrap, which retires the old ones")


@dataclass(frozen=True, slots=True)
class KeyRingState(Record):
    active: int
    minimum: int
    permanent: bool
    version: int = field(default=0, metadata=NOT_STORED)  # of the item


@dataclass(frozen=True, slots=True)
class ActiveKey:
    version: int
    secret: Secret
    check: Check  # holds as long as this version is the active one


@dataclass(frozen=True, slots=True)
class _CachedKey:
    secret: Secret
    until: float


class KeyRing:
    def __init__(self, store: Store, roots: RootKeys, clock: Clock, ttl: float = TTL_SECONDS) -> None:
        self._store = store
        self._roots = roots
        self._clock = clock
        self._ttl = ttl
        self._cached: LruCache[tuple[str, int], _CachedKey] = LruCache(REMEMBERED_KEYS)
        self._loading: SingleFlight[tuple[str, int], Secret] = SingleFlight(self._remember)
        self._unreadable: dict[Key, str] = {}

    @property
    def sealing_root(self) -> str:
        return self._roots.id

    @property
    def missing_roots(self) -> frozenset[str]:
        """The root keys that are not configured, and that data keys need which this process has read."""
        return frozenset(self._unreadable.values())

    async def look_at(self, partition: str) -> None:
        """Read a partition's data keys, to notice those whose root key is missing."""
        for item in await self.keys(partition):
            self._notice(item)

    async def look_again(self) -> None:
        """Read the unreadable data keys again: they may be wrapped by another root key, or gone."""
        for key in list(self._unreadable):
            item = await self._store.get(key)
            self._unreadable.pop(key, None)
            if item:
                self._notice(item)

    async def first_key_changes(self, partition: str) -> tuple[Put, Put]:
        """Changes for the write that creates the owner."""
        return await self._first_key_changes(partition, permanent=False)

    async def ensure_permanent(self, partition: str) -> None:
        """Creates the keys of a partition of the installation itself, unless they exist. They are never retired."""
        if await self._store.get(Key(partition, HEAD)):
            return
        try:
            await self._store.write(*await self._first_key_changes(partition, permanent=True))
        except Conflict:
            await self.head(partition)  # another process was faster, and its key serves as well

    async def head(self, partition: str) -> KeyRingState:
        item = await self._store.get(Key(partition, HEAD))
        if item is None:
            raise NoDataKey("this owner has no data key")
        return _head(item)

    async def active(self, partition: str) -> ActiveKey:
        """Reads the store each time, so that after a rotation every process seals with the new version at once."""
        head = await self.head(partition)
        secret = await self.key(partition, head.active)
        return ActiveKey(head.active, secret, Check(Key(partition, HEAD), IfVersion(head.version)))

    async def key(self, partition: str, version: int) -> Secret:
        cached = self._cached.peek((partition, version))
        if cached and self._clock.monotonic() < cached.until:
            return cached.secret
        return await self._loading.get((partition, version), partial(self._load, partition, version))

    async def keys(self, partition: str) -> list[Item]:
        return await self._store.query(partition, f"{HEAD}#", limit=2 * MAX_VERSIONS)

    async def rotate(self, partition: str) -> int:
        """Creates a new version, which becomes the active one. Returns its number."""
        return await retry_on_conflict(lambda: self._rotate(partition))

    async def rewrap(self, partition: str) -> int:
        """Wrap the data keys with the sealing root key and return their number. Sealed values do not change."""
        stale = [item for item in await self.keys(partition) if item.data["root"] != self._roots.id]
        return sum([await self._rewrap(item) for item in stale])

    async def retire(self, partition: str, seen: KeyRingState, *changes: Change) -> int:
        """Destroys all versions but the active one, if the state is still as seen. Returns how many."""
        if seen.permanent:
            return 0
        old = [item.key for item in await self.keys(partition) if item.key.sk != _sk(seen.active)]
        if old or seen.minimum != seen.active:
            state = replace(seen, minimum=seen.active)
            head = Put(Key(partition, HEAD), state.encode(), IfVersion(seen.version))
            await self._store.write(head, *(Delete(key, IfPresent()) for key in old), *changes)
            self.forget(partition)
        return len(old)

    async def deletion_writes(self, partition: str) -> list[Delete]:
        """Changes for the write that deletes the owner. Everything sealed for it is lost, in backups too."""
        item = await self._store.get(Key(partition, HEAD))
        head = [Delete(item.key, IfVersion(item.version))] if item else []  # a concurrent rotation must not leave a key
        return head + [Delete(key.key, IfPresent()) for key in await self.keys(partition)]

    def forget(self, partition: str) -> None:
        for key in [key for key in self._cached if key[0] == partition]:
            self._cached.pop(key)
        self._loading.forget(lambda key: key[0] == partition)

    async def _first_key_changes(self, partition: str, *, permanent: bool) -> tuple[Put, Put]:
        head = Put(Key(partition, HEAD), KeyRingState(1, 1, permanent).encode(), IfAbsent())
        return head, await self._new_key(partition, 1)

    async def _new_key(self, partition: str, version: int) -> Put:
        _, wrapped = await self._roots.new_data_key(_context(partition, version))
        data = _wrapped_data(wrapped) | {"createdAt": rfc3339(self._clock.now())}
        return Put(Key(partition, _sk(version)), data, IfAbsent())

    async def _rotate(self, partition: str) -> int:
        head = await self.head(partition)
        if len(await self.keys(partition)) >= MAX_VERSIONS:
            raise TooManyDataKeys
        version = head.active + 1
        state = Put(Key(partition, HEAD), replace(head, active=version).encode(), IfVersion(head.version))
        await self._store.write(state, await self._new_key(partition, version))
        return version

    async def _rewrap(self, item: Item) -> bool:
        context = _context(item.key.pk, version_of(item))
        try:
            wrapped = await self._roots.wrap(await self._roots.unwrap(_wrapped_key(item), context), context)
            await self._store.write(Put(item.key, {**item.data, **_wrapped_data(wrapped)}, IfVersion(item.version)))
        except (
            CannotOpen,
            Conflict,
        ):  # its root key is not configured (a count shows it), or another process was faster
            return False
        return True

    async def _load(self, partition: str, version: int) -> Secret:
        head_key, key = Key(partition, HEAD), Key(partition, _sk(version))
        items = await self._store.get_many([head_key, key])
        if len(items) < 2 or version < _head(items[head_key]).minimum:  # noqa: PLR2004  # both, or there is no key
            raise CannotOpen
        self._notice(items[key])
        return await self._roots.unwrap(_wrapped_key(items[key]), _context(partition, version))

    def _notice(self, item: Item) -> None:
        if item.data["root"] not in self._roots.ids and len(self._unreadable) < REMEMBERED_UNREADABLE:
            self._unreadable[item.key] = item.data["root"]

    def _remember(self, loaded: tuple[str, int], secret: Secret) -> None:
        now = self._clock.monotonic()
        self._cached.put(loaded, _CachedKey(secret, now + self._ttl))
        for key in list(self._cached):  # ordered by time of loading, and so by expiry
            remembered = self._cached.peek(key)
            if remembered is None or remembered.until > now:
                return
            self._cached.pop(key)


def version_of(item: Item) -> int:
    return int(item.key.sk.removeprefix(f"{HEAD}#"))


def _sk(version: int) -> str:
    return f"{HEAD}#{version:06d}"


def _context(partition: str, version: int) -> dict[str, str]:
    return {"app": "plugboard", "owner": partition, "purpose": "data-key", "version": str(version)}


def _head(item: Item) -> KeyRingState:
    return KeyRingState.decode(item.data, version=item.version)


def _wrapped_data(wrapped: WrappedKey) -> dict[str, str]:
    return {"root": wrapped.root_id, "wrapped": to_text(wrapped.blob)}


def _wrapped_key(item: Item) -> WrappedKey:
    return WrappedKey(item.data["root"], from_text(item.data["wrapped"]))
