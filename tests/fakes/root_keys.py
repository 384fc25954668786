"""Root keys for tests: new ones, and ones that can be watched, stopped and taken away."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping

from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.root_keys import LocalRootKeys, RootKeys, RootKeyUnavailable, WrappedKey
from api.kit.crypto.secret import Secret
from api.kit.storage.store import Store
from tests.fakes.still_clock import StillClock

W = "WS#w"


class ObservableRootKeys:
    """Root keys that count what they are asked, can be down, and wait while their gate is closed."""

    def __init__(self, roots: RootKeys) -> None:
        self._roots = roots
        self.id, self.ids = roots.id, roots.ids
        self.unwrapped = 0
        self.down = False
        self.requested = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    def close_gate(self) -> None:
        self.gate.clear()
        self.requested.clear()

    async def new_data_key(self, context: Mapping[str, str]) -> tuple[Secret, WrappedKey]:
        self.requested.set()
        await self.gate.wait()
        return await self._roots.new_data_key(context)

    async def wrap(self, secret: Secret, context: Mapping[str, str]) -> WrappedKey:
        return await self._roots.wrap(secret, context)

    async def unwrap(self, wrapped: WrappedKey, context: Mapping[str, str]) -> Secret:
        self.unwrapped += 1
        self.requested.set()
        await self.gate.wait()
        if self.down:
            raise RootKeyUnavailable
        return await self._roots.unwrap(wrapped, context)

    def close(self) -> None:
        self._roots.close()


def new_root_keys(*ids: str) -> LocalRootKeys:
    return LocalRootKeys({root_id: Secret(secrets.token_bytes(32)) for root_id in ids or ("k1",)})


async def ring_with_key(store: Store, roots: RootKeys | None = None, clock: StillClock | None = None) -> KeyRing:
    ring = KeyRing(store, roots or new_root_keys(), clock or StillClock())
    await store.write(*await ring.first_key_changes(W))
    return ring
