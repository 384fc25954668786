"""Peppers: the secrets that API keys are hashed with, derived from the system's data keys.

A copy of the table alone does not let anyone test guesses.
"""

from __future__ import annotations

from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Vault

SYSTEM = "SYSTEM"
PURPOSE = "api-key pepper"


class Peppers:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._cached: dict[int, Secret] = {}

    async def current(self) -> tuple[int, Secret]:
        """The pepper for new keys, with its version."""
        version, pepper = await self._vault.derived_key(SYSTEM, PURPOSE)
        self._cached[version] = pepper
        return version, pepper

    async def any(self) -> Secret:
        """Any pepper, for a hash whose result is ignored."""
        if not self._cached:
            await self.current()
        return next(iter(self._cached.values()))

    async def get(self, version: int) -> Secret:
        """Cached for the life of the process, so that keys can be checked while the key service is unavailable."""
        pepper = self._cached.get(version)
        if pepper is None:
            _, pepper = await self._vault.derived_key(SYSTEM, PURPOSE, version)
            self._cached[version] = pepper
        return pepper
