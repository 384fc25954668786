"""Root keys, which wrap the data keys: a local key ring here, or AWS KMS in `kms_root_keys`."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

from api.kit.crypto.envelope import KEY_BYTES, CannotOpen, bind, decrypt, encrypt
from api.kit.crypto.secret import Secret

MIN_DISTINCT = 17  # 32 random bytes have fewer distinct ones in one of three thousand million keys
MAX_FILE_BYTES = 65_536
HOW_TO_MAKE_ONE = "make one with `openssl rand -base64 32`"

# SHA-256 of published keys: that of NIST SP 800-38A and that of Fernet's documentation. Zeros, 0..31, text and other
# patterns need no list: `_weakness` detects them.
KNOWN_SAMPLES = frozenset(
    {
        "b93c72b74bc8487d29827005f80d635918f91bc22b14d7ed05714d58f96702dd",
        "cbeb362f1fa69a6691db592f4529cf6bea1ce089eb132a3350c9081279ff8f34",
    }
)

_ROOT_ID = re.compile(rb"[A-Za-z0-9_-]{1,32}")
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")


class _Entry(NamedTuple):
    root_id: str
    key: Secret


class _ParseError(NamedTuple):
    text: str


class RootKeyUnavailable(Exception):
    """The root key cannot be reached at the moment; the same call may succeed later."""


class UnknownRootKey(CannotOpen):
    def __init__(self, root_id: str) -> None:
        super().__init__(
            f"a data key is wrapped by root key {root_id!r}, which is not among the configured ones: "
            "add it to PLUGBOARD_ROOT_KEY"
        )
        self.root_id = root_id


class InvalidRootKeys(Exception):
    """The configured root keys cannot be used. The text gives the reason and the remedy, and no character of a key."""


@dataclass(frozen=True, slots=True)
class WrappedKey:
    root_id: str
    blob: bytes = field(repr=False)


class RootKeys(Protocol):
    """Wraps data keys. The context is bound: a wrapped key opens only for its own owner and version."""

    @property
    def id(self) -> str:
        """The root key that seals."""
        ...

    @property
    def ids(self) -> frozenset[str]:
        """All root keys that can open data keys."""
        ...

    async def new_data_key(self, context: Mapping[str, str]) -> tuple[Secret, WrappedKey]: ...

    async def wrap(self, secret: Secret, context: Mapping[str, str]) -> WrappedKey: ...

    async def unwrap(self, wrapped: WrappedKey, context: Mapping[str, str]) -> Secret: ...

    def close(self) -> None: ...


class LocalRootKeys:
    """A key ring: the first key seals, all of them open."""

    def __init__(self, keys: Mapping[str, Secret]) -> None:
        self._keys = dict(keys)
        self.id = next(iter(self._keys))
        self.ids = frozenset(self._keys)

    @classmethod
    def parse(cls, text: Secret) -> LocalRootKeys:
        """Parse `id:base64[,id:base64…]`."""
        return cls._of([Secret(entry) for entry in text.reveal().split(b",")])

    @classmethod
    def from_file(cls, path: Path) -> LocalRootKeys:
        """Read a file with one `id:base64` per line, which only its owner may read."""
        content = _read_private(path)
        try:
            return cls._of([Secret(line) for line in content.reveal().splitlines() if line.strip()])
        except InvalidRootKeys as error:
            raise InvalidRootKeys(f"{path}: {error}") from None

    @classmethod
    def _of(cls, entries: Sequence[Secret]) -> LocalRootKeys:
        keys: dict[str, Secret] = {}
        for number, entry in enumerate(entries, start=1):
            result = _parse_entry(entry)
            if isinstance(result, _ParseError):
                raise InvalidRootKeys(f"root key {number} {result.text}")
            if result.root_id in keys:
                raise InvalidRootKeys(f"root key {number} has the id of another one; give each its own id")
            keys[result.root_id] = result.key
        if not keys:
            raise InvalidRootKeys(f"there is no root key; {HOW_TO_MAKE_ONE} and write it as id:key")
        return cls(keys)

    def __repr__(self) -> str:
        return f"LocalRootKeys({', '.join(self._keys)})"

    async def new_data_key(self, context: Mapping[str, str]) -> tuple[Secret, WrappedKey]:
        secret = Secret(secrets.token_bytes(KEY_BYTES))
        return secret, await self.wrap(secret, context)

    async def wrap(self, secret: Secret, context: Mapping[str, str]) -> WrappedKey:
        return WrappedKey(self.id, encrypt(self._keys[self.id], 0, _bound_context(self.id, context), secret))

    async def unwrap(self, wrapped: WrappedKey, context: Mapping[str, str]) -> Secret:
        key = self._keys.get(wrapped.root_id)
        if key is None:
            raise UnknownRootKey(wrapped.root_id)
        return decrypt(key, _bound_context(wrapped.root_id, context), wrapped.blob)

    def close(self) -> None:
        """Nothing to close."""


class CombinedRootKeys:
    """Root keys of several kinds: the first kind seals, so that data keys can move from a file to KMS."""

    def __init__(self, sealing: RootKeys, *readable: RootKeys) -> None:
        self._sealing = sealing
        self._all = (sealing, *readable)
        self.id = sealing.id
        self.ids = frozenset[str]().union(*(roots.ids for roots in self._all))
        if len(self.ids) != sum(len(roots.ids) for roots in self._all):
            raise InvalidRootKeys("two root keys have the same id; give each its own id")

    async def new_data_key(self, context: Mapping[str, str]) -> tuple[Secret, WrappedKey]:
        return await self._sealing.new_data_key(context)

    async def wrap(self, secret: Secret, context: Mapping[str, str]) -> WrappedKey:
        return await self._sealing.wrap(secret, context)

    async def unwrap(self, wrapped: WrappedKey, context: Mapping[str, str]) -> Secret:
        for roots in self._all:
            if wrapped.root_id in roots.ids:
                return await roots.unwrap(wrapped, context)
        raise UnknownRootKey(wrapped.root_id)

    def close(self) -> None:
        for roots in self._all:
            roots.close()


def create_key_file(path: Path) -> bool:
    """Creates a key file with one new key. If several processes do so at once, one wins and all see the same file."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        _write_private(draft, _new_entry())
        try:
            return _publish(draft, path)
        finally:
            draft.unlink()
    except OSError as error:
        raise InvalidRootKeys(f"{path}: cannot be created ({error.strerror})") from None


def _write_private(path: Path, content: Secret) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content.reveal())
        file.flush()
        os.fsync(descriptor)


def _publish(draft: Path, path: Path) -> bool:
    try:
        path.hardlink_to(draft)  # unlike a rename, it fails if the file exists, so no key is ever replaced
    except FileExistsError:
        return False
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)  # a key that has sealed data must survive a power cut
    finally:
        os.close(directory)
    return True


def _new_entry() -> Secret:
    key = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
    return Secret(f"local-{secrets.token_hex(4)}:{key}\n")


def _read_private(path: Path) -> Secret:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not block the start
    except OSError as error:
        raise InvalidRootKeys(f"{path}: cannot be read ({error.strerror})") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidRootKeys(f"{path}: is not a file")
        if status.st_uid not in (0, os.geteuid()):
            raise InvalidRootKeys(f"{path}: belongs to another user, who may know the key")
        if status.st_mode & 0o077:
            raise InvalidRootKeys(f"{path}: users other than its owner can access it; run `chmod 600 {path}`")
        return Secret(os.read(descriptor, MAX_FILE_BYTES))
    finally:
        os.close(descriptor)


def _parse_entry(entry: Secret) -> _Entry | _ParseError:
    """Errors are returned, not raised: the traceback of this frame would show the key."""
    root_id, _, encoded = entry.reveal().strip().partition(b":")
    if not encoded or not _ROOT_ID.fullmatch(root_id):
        return _ParseError("is not written as id:key, the id being 1 to 32 of A-Z a-z 0-9 _ -")
    try:
        key = base64.b64decode(encoded.translate(_TO_STANDARD), validate=True)
    except binascii.Error:
        return _ParseError(f"is not base64; {HOW_TO_MAKE_ONE}")
    if len(key) != KEY_BYTES:
        return _ParseError(f"has {len(key)} bytes where {KEY_BYTES} are needed; {HOW_TO_MAKE_ONE}")
    if weakness := _weakness(key):
        return _ParseError(f"{weakness}; {HOW_TO_MAKE_ONE}")
    return _Entry(root_id.decode(), Secret(key))


def _weakness(key: bytes) -> str | None:
    if hashlib.sha256(key).hexdigest() in KNOWN_SAMPLES:
        return "is a published sample key"
    if key.isascii():
        return "is text and not random"
    steps = {(after - before) % 256 for before, after in pairwise(key)}
    if len({*key}) < MIN_DISTINCT or len(steps) < MIN_DISTINCT:
        return "is a pattern and not random"
    return None


def _bound_context(root_id: str, context: Mapping[str, str]) -> bytes:
    return bind("root", root_id, *chain.from_iterable(sorted(context.items())))
