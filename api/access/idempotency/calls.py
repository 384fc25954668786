"""`Idempotency-Key` for tool calls: a repeated call is sent to the upstream at most once.

An upstream's effect cannot be part of a write of ours. So the key is reserved before the call. If the outcome of the
call is unknown, the key stays reserved: a call that may have been carried out is never sent again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from enum import StrEnum

from api.access.idempotency.records import KEPT_SECONDS, Data, IdempotencyRecord
from api.access.principal import Principal
from api.errors import AppError, ConflictProblem, ServiceUnavailable
from api.http.request import AnyRequest
from api.http.responses import StoredResponse
from api.kit.clock import Clock
from api.kit.crypto.data_keys import NoDataKey
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.storage.store import Conflict, Delete, IfAbsent, IfVersion, Item, ItemTooLarge, Put, Store, StoreError

LONGEST_SECONDS = 60.0
"""More than any call takes from the reservation to the response: 30 s for the upstream, the rest for the store and for
clocks that differ."""
ERRORS_BEFORE_EFFECT = (AppError, StoreError, NoDataKey, RootKeyUnavailable, CannotOpen)
"""Errors that are raised only before the call has an effect. Later failures are responses, or unexpected errors."""
IN_PROGRESS = "The first request with this Idempotency-Key is still in progress. Try again shortly."
UNKNOWN = (
    "The outcome of the first request with this Idempotency-Key is unknown: it may have been carried out, so it is not "
    "sent again. To call the tool again, use a new key."
)
NOT_KEPT = (
    "The first request with this Idempotency-Key was carried out, but its response was too large to store. To call the "
    "tool again, use a new key."
)

GuardedWrite = Callable[[Principal, Sequence[Put]], Awaitable[None]]
"""Refused if the principal has lost its rights."""

log = logging.getLogger(__name__)


class CallState(StrEnum):
    RUNNING = "running"
    ANSWERED = "answered"
    TOO_LARGE = "too large"


class IdempotentCall:
    """Runs one POST at most once."""

    def __init__(self, request: AnyRequest, store: Store, write: GuardedWrite, clock: Clock) -> None:
        self._request = request
        self._store = store
        self._write = write
        self._clock = clock

    async def run(
        self, idempotency_key: str, work: Callable[[], Awaitable[tuple[StoredResponse, bool]]]
    ) -> StoredResponse:
        """`work` returns its response, and whether anything was sent that may have had an effect."""
        record = await IdempotencyRecord.for_request(self._request, idempotency_key)
        running = record.data(state=CallState.RUNNING, since=self._clock.now())
        reservation = Put(record.key, running, IfAbsent(), self._expiry)
        if earlier := await self._reserve(record, reservation):
            return self._earlier_response(record, earlier)
        try:
            response, was_sent = await work()
        except ERRORS_BEFORE_EFFECT:
            await self._release(reservation)
            raise
        if was_sent:
            await self._keep(record, response, reservation)
        else:
            await self._release(reservation)
        return response

    async def _reserve(self, record: IdempotencyRecord, reservation: Put) -> Item | None:
        try:
            await self._write(self._request.state.context.principal, [reservation])
        except Conflict as conflict:
            earlier = await record.load(self._store)
            if earlier is None:  # it has expired, or was freed, since the write
                raise ServiceUnavailable from conflict
            return earlier
        return None

    def _earlier_response(self, record: IdempotencyRecord, item: Item) -> StoredResponse:
        match item.data["state"]:
            case CallState.ANSWERED:
                return record.response(item)
            case CallState.TOO_LARGE:
                raise ConflictProblem(NOT_KEPT)
            case _ if self._clock.now() - item.data["since"] < LONGEST_SECONDS:
                raise ConflictProblem(IN_PROGRESS, headers={"Retry-After": "1"})
            case _:
                raise ConflictProblem(UNKNOWN)

    async def _release(self, reservation: Put) -> None:
        with suppress(StoreError):  # the key stays reserved, which does no harm
            await self._store.write(Delete(reservation.key, IfVersion(reservation.version)))

    async def _keep(self, record: IdempotencyRecord, response: StoredResponse, reservation: Put) -> None:
        """Store the response. If this fails, the client already has it; a retry gets 409 (outcome unknown)."""
        sealed = await asyncio.to_thread(record.data_with, response)  # compressing megabytes would block the event loop
        try:
            await self._replace(reservation, {**sealed, "state": CallState.ANSWERED})
        except StoreError as error:
            log.warning("the response to an Idempotency-Key could not be stored", extra={"detail": str(error)})

    async def _replace(self, reservation: Put, data: Data) -> None:
        """Requires the reservation, so that nothing is written to a workspace that was deleted meanwhile."""
        condition = IfVersion(reservation.version)
        try:
            await self._store.write(Put(reservation.key, data, condition, self._expiry))
        except ItemTooLarge:
            marker = {"request": data["request"], "state": CallState.TOO_LARGE}
            await self._store.write(Put(reservation.key, marker, condition, self._expiry))

    @property
    def _expiry(self) -> int:
        return int(self._clock.now()) + KEPT_SECONDS
