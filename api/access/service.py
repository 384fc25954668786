"""Is this a key of ours, whose is it, and may it be used for this workspace?"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from api.access.context import Caller, OperatorContext, WorkspaceContext, partition_of
from api.access.keys import ApiKey
from api.access.peppers import Peppers
from api.access.repository import OPERATORS, KeyRecord, Keys
from api.access.usage import Usage
from api.errors import NotFound, Unauthorized
from api.kit.clock import Clock, rfc3339
from api.kit.snapshots import Memory, Snapshot

_NOBODYS_HASH = "0" * 64


@dataclass(frozen=True, slots=True)
class Found:
    caller: Caller
    snapshot: Snapshot


class Access:
    def __init__(self, keys: Keys, memory: Memory, peppers: Peppers, usage: Usage, clock: Clock) -> None:
        self._keys = keys
        self._memory = memory
        self._peppers = peppers
        self._usage = usage
        self._clock = clock

    async def identify(self, authorization: str) -> Caller:
        """The caller, wherever the key belongs."""
        return (await self._find_anywhere(_parse(authorization))).caller

    async def enter(self, authorization: str, workspace_id: str, request_id: str) -> WorkspaceContext:
        """The right to act for this workspace. A good key of another one learns only that there is nothing here."""
        key = _parse(authorization)
        partition = partition_of(workspace_id)
        found = await self._find_in(partition, key)
        if found is None:
            await self._find_anywhere(key)
            raise NotFound
        return WorkspaceContext(workspace_id, found.caller, found.snapshot, request_id)

    async def enter_as_operator(self, caller: Caller, workspace_id: str, request_id: str) -> WorkspaceContext:
        """For what an operator may do to a workspace from outside: nothing but delete it."""
        snapshot = await self._memory.open(partition_of(workspace_id))
        if snapshot is None:
            raise NotFound
        return WorkspaceContext(workspace_id, caller, snapshot, request_id)

    async def operate(self, authorization: str, request_id: str) -> OperatorContext:
        return OperatorContext(await self.identify(authorization), request_id)

    async def _find_anywhere(self, key: ApiKey) -> Found:
        partition = await self._keys.owner(key.key_id)
        found = await self._find_in(partition or OPERATORS, key)
        if found is None:
            raise Unauthorized
        return found

    async def _find_in(self, partition: str, key: ApiKey) -> Found | None:
        snapshot = await self._memory.open(partition)
        record = await self._keys.find(snapshot, key.key_id) if snapshot else None
        if not await self._matches(record, key) or snapshot is None or record is None:
            return None
        self._usage.note(partition, record.id)
        agent_ids = None if record.agent_ids is None else frozenset(record.agent_ids)
        return Found(Caller(record.id, record.name, record.scope, key.secret, agent_ids), snapshot)

    async def _matches(self, record: KeyRecord | None, key: ApiKey) -> bool:
        """The same work whether or not there is such a key, so that the time taken names no key's id."""
        pepper = await (self._peppers.of(record.pepper) if record else self._peppers.any())
        expected = record.hash if record else _NOBODYS_HASH
        same = hmac.compare_digest(key.hashed(pepper), expected)
        return same and record is not None and not self._expired(record)

    def _expired(self, record: KeyRecord) -> bool:
        return record.expires_at is not None and record.expires_at <= rfc3339(self._clock.now())


def _parse(authorization: str) -> ApiKey:
    scheme, _, text = authorization.partition(" ")
    key = ApiKey.parse(text.strip()) if scheme.lower() == "bearer" else None
    if key is None:
        raise Unauthorized
    return key
