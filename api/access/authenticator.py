"""Is this a key of ours, whose is it, and may it be used for this workspace?"""

from __future__ import annotations

import hmac
from typing import NamedTuple

from api.access.api_key import ApiKey
from api.access.caller_cache import CallerCache
from api.access.context import Caller, OperatorContext, Scope, WorkspaceContext, has_expired, partition_of
from api.access.last_used import LastUsedRecorder
from api.access.peppers import Peppers
from api.access.repository import OPERATORS, ApiKeyRecord, ApiKeyRepository
from api.errors import Forbidden, NotFound, Unauthorized
from api.kit.clock import Clock
from api.kit.storage.revision_cache import RevisionCache, Snapshot

_NOBODYS_HASH = "0" * 64


class Authenticated(NamedTuple):
    caller: Caller
    snapshot: Snapshot


class Authenticator:
    def __init__(
        self, keys: ApiKeyRepository, memory: RevisionCache, peppers: Peppers, usage: LastUsedRecorder, clock: Clock
    ) -> None:
        self._keys = keys
        self._memory = memory
        self._peppers = peppers
        self._usage = usage
        self._clock = clock
        self._known = CallerCache()

    async def identify(self, authorization: str) -> Caller:
        """The caller, wherever the key belongs."""
        return (await self._find_anywhere(authorization)).caller

    async def authenticate(self, authorization: str, workspace_id: str, request_id: str) -> WorkspaceContext:
        """The right to act for this workspace. A good key of another one learns only that there is nothing here."""
        found = await self._find_in(partition_of(workspace_id), authorization)
        if found is None:
            if (await self._find_anywhere(authorization)).caller.scope is Scope.OPERATOR:
                raise Forbidden("An operator key sees nothing of what is in a workspace. Use a key of the workspace.")
            raise NotFound
        return WorkspaceContext(workspace_id, found.caller, found.snapshot, request_id)

    async def workspace_exists(self, workspace_id: str) -> bool:
        return await self._memory.open(partition_of(workspace_id)) is not None

    async def reauthorize(self, workspace_id: str, key_id: str, request_id: str) -> WorkspaceContext | None:
        """The right to finish what this key has begun, as it is now: without a request of its own, and not for long."""
        partition = partition_of(workspace_id)
        snapshot = await self._memory.open(partition)
        record = await self._keys.get(partition, key_id) if snapshot else None
        caller = _caller(partition, record) if record else None
        if snapshot is None or caller is None or has_expired(caller, self._clock.now()):
            return None
        return WorkspaceContext(workspace_id, caller, snapshot, request_id)

    async def enter_as_operator(self, caller: Caller, workspace_id: str, request_id: str) -> WorkspaceContext:
        """For what an operator may do to a workspace from outside: nothing but delete it."""
        snapshot = await self._memory.open(partition_of(workspace_id))
        if snapshot is None:
            raise NotFound
        return WorkspaceContext(workspace_id, caller, snapshot, request_id)

    async def authenticate_operator(self, authorization: str, request_id: str) -> OperatorContext:
        return OperatorContext(await self.identify(authorization), request_id)

    async def _find_anywhere(self, authorization: str) -> Authenticated:
        partition = await self._keys.owner(_parse(authorization).key_id)
        found = await self._find_in(partition or OPERATORS, authorization)
        if found is None:
            raise Unauthorized
        return found

    async def _find_in(self, partition: str, authorization: str) -> Authenticated | None:
        known = self._known.get(partition, authorization)
        if known is None:
            _parse(authorization)  # what cannot be a key of ours costs no read
        snapshot = await self._memory.open(partition)
        if known and snapshot and known.revision == snapshot.revision:
            caller: Caller | None = known.caller
        else:
            caller = await self._check(partition, snapshot, _parse(authorization))
            if snapshot and caller:
                self._known.remember(snapshot, authorization, caller)
        if snapshot is None or caller is None or has_expired(caller, self._clock.now()):
            return None
        self._usage.note(partition, caller.key_id)
        return Authenticated(caller, snapshot)

    async def _check(self, partition: str, snapshot: Snapshot | None, key: ApiKey) -> Caller | None:
        """The same work whether or not there is such a key, so that the time taken names no key's id."""
        record = await (self._keys.find(snapshot, key.key_id) if snapshot else self._keys.get(partition, key.key_id))
        pepper = await (self._peppers.get(record.pepper) if record else self._peppers.any())
        hashed = key.hashed(pepper, record.rights(partition) if record else b"")
        same = hmac.compare_digest(hashed, record.hash if record else _NOBODYS_HASH)
        return _caller(partition, record) if record and same else None


def _caller(partition: str, record: ApiKeyRecord) -> Caller:
    agent_ids = None if record.agent_ids is None else frozenset(record.agent_ids)
    return Caller(record.id, record.name, record.scope, partition, agent_ids, record.expires_at)


def _parse(authorization: str) -> ApiKey:
    key = ApiKey.presented(authorization)
    if key is None:
        raise Unauthorized
    return key
