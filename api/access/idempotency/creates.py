"""`Idempotency-Key` for requests that create something in the store.

The record of the request is part of the write that creates the object. So neither exists without the other, and no
lease can run out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from api.access.idempotency.records import HEADER, KEPT_SECONDS, IdempotencyRecord, idempotency_key
from api.errors import ServiceUnavailable
from api.http.request import AnyRequest
from api.http.responses import StoredResponse
from api.kit.clock import Clock
from api.kit.storage.store import Change, Conflict, IfAbsent, Put, Store

__all__ = ["HEADER", "AlreadyCompleted", "IdempotencyChanges", "IdempotentCreate", "raise_if_completed"]

IdempotencyChanges = Callable[[StoredResponse], Sequence[Change]]


class AlreadyCompleted(Exception):
    """The write was refused because the same request has already been carried out."""


def raise_if_completed(conflict: Conflict, receipt: Sequence[Change]) -> None:
    if any(change.key in conflict.failed for change in receipt):
        raise AlreadyCompleted from conflict


class IdempotentCreate:
    """Runs one POST at most once."""

    def __init__(self, request: AnyRequest, store: Store, clock: Clock) -> None:
        self._request = request
        self._store = store
        self._clock = clock

    @property
    def path(self) -> str:
        """The request's path: the collection of the new object."""
        return str(self._request.scope["path"]).rstrip("/")

    async def run(self, work: Callable[[IdempotencyChanges], Awaitable[StoredResponse]]) -> StoredResponse:
        """`work` adds the changes that its argument returns to the write that creates the object."""
        key = idempotency_key(self._request)
        if key is None:
            return await work(lambda _: ())
        record = await IdempotencyRecord.for_request(self._request, key)
        return await self._earlier(record) or await self._first(record, work)

    async def _first(
        self, record: IdempotencyRecord, work: Callable[[IdempotencyChanges], Awaitable[StoredResponse]]
    ) -> StoredResponse:
        try:
            return await work(lambda response: [self._record(record, response)])
        except AlreadyCompleted as done:
            earlier = await self._earlier(record)
            if earlier is None:  # it has expired since the write
                raise ServiceUnavailable from done
            return earlier

    async def _earlier(self, record: IdempotencyRecord) -> StoredResponse | None:
        item = await record.load(self._store)
        return record.response(item) if item else None

    def _record(self, record: IdempotencyRecord, response: StoredResponse) -> Change:
        return Put(record.key, record.data_with(response), IfAbsent(), expires_at=int(self._clock.now()) + KEPT_SECONDS)
