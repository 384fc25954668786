"""The secret that API keys are hashed with: derived from the system's data keys, so no table dump can test a guess."""

from __future__ import annotations

from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Vault

SYSTEM = "SYSTEM"
PURPOSE = "api-key pepper"


class Peppers:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._known: dict[int, Secret] = {}

    async def current(self) -> tuple[int, Secret]:
        """The one to hash a new key with."""
        version, pepper = await self._vault.derived_key(SYSTEM, PURPOSE)
        self._known[version] = pepper
        return version, pepper

    async def any(self) -> Secret:
        """For a hash that will be thrown away."""
        if not self._known:
            await self.current()
        return next(iter(self._known.values()))

    async def get(self, version: int) -> Secret:
        """Kept for as long as the process lives: callers are known even while the key service is away."""
        pepper = self._known.get(version)
        if pepper is None:
            _, pepper = await self._vault.derived_key(SYSTEM, PURPOSE, version)
            self._known[version] = pepper
        return pepper
