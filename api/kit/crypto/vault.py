"""Sealing and opening of secrets, which are bound to their owner and their location."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from api.kit.crypto.data_keys import ActiveKey, KeyRing
from api.kit.crypto.envelope import bind, decrypt, derive, encrypt, from_text, key_version, to_text
from api.kit.crypto.secret import HIDDEN, Secret
from api.kit.storage.store import Check


class SecretLocation(NamedTuple):
    """The location of a secret in its owner's partition."""

    sk: str
    field: str


@dataclass(frozen=True, slots=True, repr=False)
class Sealed:
    """A secret as it is stored."""

    envelope: bytes
    version: int = field(init=False)  # of the data key

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", key_version(self.envelope))

    @classmethod
    def parse(cls, text: str) -> Sealed:
        return cls(from_text(text))

    @property
    def text(self) -> str:
        return to_text(self.envelope)

    def __repr__(self) -> str:
        return f"Sealed(v{self.version}, {HIDDEN})"


class DerivedKey(NamedTuple):
    version: int
    secret: Secret


class Sealer:
    """Seals for one owner with the active key.

    The write that stores a sealed value must include `guard`: if the key was rotated in between, it meets a Conflict
    and the caller seals again. So nothing is ever stored under a version that a rewrap has already left behind.
    """

    def __init__(self, partition: str, key: ActiveKey) -> None:
        self._partition = partition
        self._key = key

    @property
    def partition(self) -> str:
        return self._partition

    @property
    def version(self) -> int:
        return self._key.version

    @property
    def guard(self) -> Check:
        return self._key.check

    def seal(self, location: SecretLocation, secret: Secret) -> Sealed:
        return Sealed(encrypt(self._key.secret, self._key.version, _context(self._partition, location), secret))


class Vault:
    """Callers pass their own partition, never one that was read from a record."""

    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring

    async def sealer(self, partition: str) -> Sealer:
        return Sealer(partition, await self._keyring.active(partition))

    async def unseal(self, partition: str, location: SecretLocation, sealed: Sealed) -> Secret:
        key = await self._keyring.key(partition, sealed.version)
        return decrypt(key, _context(partition, location), sealed.envelope)

    async def reseal(self, sealing: Sealer, location: SecretLocation, sealed: Sealed) -> Sealed:
        """Seal the same secret at the same location under the active key, without revealing it."""
        return sealing.seal(location, await self.unseal(sealing.partition, location, sealed))

    async def derived_key(self, partition: str, purpose: str, version: int | None = None) -> DerivedKey:
        """A key for keyed hashes. Store the version beside a hash, and pass it to check the hash."""
        if version is None:
            active = await self._keyring.active(partition)
            return DerivedKey(active.version, derive(active.secret, purpose))
        return DerivedKey(version, derive(await self._keyring.key(partition, version), purpose))


def _context(partition: str, location: SecretLocation) -> bytes:
    return bind("item", partition, location.sk, location.field)
