"""How does a secret get into an item and out again, so that it opens for its owner at its place and nowhere else?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from api.kit.crypto.data_keys import ActiveKey, KeyRing
from api.kit.crypto.envelope import bind, decrypt, derive, encrypt, from_text, key_version, to_text
from api.kit.crypto.secret import HIDDEN, Secret
from api.kit.storage.store import Check


class SecretLocation(NamedTuple):
    """Where in its owner's partition a secret is kept."""

    sk: str
    field: str


@dataclass(frozen=True, slots=True, repr=False)
class Sealed:
    """A secret as it is stored. To have it is not to be allowed to open it."""

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
    """Seals for one owner with the key that is active now.

    The write that stores what was sealed must carry `check`: if the key was rotated meanwhile it meets a Conflict, and
    the caller seals again. So nothing is ever stored under a version that a rewrap has already left behind.
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

    def seal(self, place: SecretLocation, secret: Secret) -> Sealed:
        return Sealed(encrypt(self._key.secret, self._key.version, _context(self._partition, place), secret))


class Vault:
    """The partition that is named is always the caller's own, never one that was read from a record."""

    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring

    async def sealer(self, partition: str) -> Sealer:
        return Sealer(partition, await self._keyring.active(partition))

    async def unseal(self, partition: str, place: SecretLocation, sealed: Sealed) -> Secret:
        key = await self._keyring.key(partition, sealed.version)
        return decrypt(key, _context(partition, place), sealed.envelope)

    async def reseal(self, sealing: Sealer, place: SecretLocation, sealed: Sealed) -> Sealed:
        """The same secret at the same place under the active key; it is not shown to the caller."""
        return sealing.seal(place, await self.unseal(sealing.partition, place, sealed))

    async def derived_key(self, partition: str, purpose: str, version: int | None = None) -> DerivedKey:
        """A key for keyed hashes. Store the version beside what was made with it, and name it to check that."""
        if version is None:
            active = await self._keyring.active(partition)
            return DerivedKey(active.version, derive(active.secret, purpose))
        return DerivedKey(version, derive(await self._keyring.key(partition, version), purpose))


def _context(partition: str, place: SecretLocation) -> bytes:
    return bind("item", partition, place.sk, place.field)
