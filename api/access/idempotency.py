"""The same POST sent twice happens once: `Idempotency-Key`.

The record of a request is written in the same write as what the request made, so there is no moment at which one exists
without the other, and no lease that could run out. The stored answer is sealed with a key made from the caller's own
API key: it may hold a secret that is shown once, and only who was shown it may see it again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from litestar import Request

from api.access.context import OperatorContext, WorkspaceContext
from api.access.keys import ApiKey
from api.access.repository import OPERATORS
from api.errors import Invalid, KeyReused, Unauthorized, Unavailable
from api.http.answers import Answer
from api.kit.clock import Clock
from api.kit.envelope import bind, decrypt, derive, encrypt, from_text, to_text
from api.kit.secret import Secret
from api.kit.store import Absent, Change, Conflict, Item, Key, Put, Store

KEPT_SECONDS = 24 * 3600
SEALED_BY_CALLER = 1  # the envelope's key number: there is one key, the caller's
KEY_FORM = re.compile(r"[\x21-\x7e]{1,255}")
HEADER = "Idempotency-Key"

Receipt = Callable[[Answer], Sequence[Change]]


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where the record of a request is, what the request was, and who may read the answer."""

    key: Key
    request_hash: str
    sealing: Secret


class AlreadyDone(Exception):
    """The write was refused because the same request had been carried out."""


def raise_if_done(conflict: Conflict, receipt: Sequence[Change]) -> None:
    if any(change.key in conflict.failed for change in receipt):
        raise AlreadyDone from conflict


class Once:
    """Runs the work of one POST: now, or not again."""

    def __init__(self, request: Request[Any, Any, Any], store: Store, clock: Clock) -> None:
        self._request = request
        self._store = store
        self._clock = clock

    @property
    def path(self) -> str:
        """Where the request went, which is above where the new thing is."""
        return str(self._request.scope["path"]).rstrip("/")

    async def run(self, work: Callable[[Receipt], Awaitable[Answer]]) -> Answer:
        """`work` has to add what its receipt returns to the write that makes the thing."""
        given = self._request.headers.get(HEADER)
        if given is None:
            return await work(lambda _: ())
        if not KEY_FORM.fullmatch(given):
            raise Invalid.at(HEADER, "Use 1 to 255 visible ASCII characters.")
        slot = _slot(self._request, given)
        return await self._earlier(slot) or await self._first(slot, work)

    async def _first(self, slot: _Slot, work: Callable[[Receipt], Awaitable[Answer]]) -> Answer:
        try:
            return await work(lambda answer: [self._record(slot, answer)])
        except AlreadyDone as done:
            earlier = await self._earlier(slot)
            if earlier is None:  # it ran out in this very moment
                raise Unavailable from done
            return earlier

    async def _earlier(self, slot: _Slot) -> Answer | None:
        item = await self._store.get(slot.key)
        if item is None:
            return None
        if item.data["request"] != slot.request_hash:
            raise KeyReused
        return _open(slot, item)

    def _record(self, slot: _Slot, answer: Answer) -> Change:
        data = {
            "request": slot.request_hash,
            "status": answer.status,
            "headers": dict(answer.headers),
            "body": _seal(slot, answer.body),
        }
        return Put(slot.key, data, Absent(), expires_at=int(self._clock.now()) + KEPT_SECONDS)


def _slot(request: Request[Any, Any, Any], given: str) -> _Slot:
    context: WorkspaceContext | OperatorContext = request.state.context
    partition = context.partition if isinstance(context, WorkspaceContext) else OPERATORS
    secret, path = _secret(request), str(request.scope["path"])
    place = hashlib.sha256(_joined(context.caller.key_id, path, given)).hexdigest()
    asked = _joined(request.method, path, request.scope["query_string"].decode("latin-1"), _body(request))
    # Keyed: the body may hold a password, and a bare hash of it could be tried out on a copy of the table.
    request_hash = hmac.digest(derive(secret, f"idempotent request {place}").reveal(), asked, hashlib.sha256)
    return _Slot(Key(partition, f"IDEMPOTENCY#{place}"), request_hash.hex(), derive(secret, f"idempotency {place}"))


def _secret(request: Request[Any, Any, Any]) -> Secret:
    """What the caller has and we keep nowhere: the key that the guard has checked."""
    key = ApiKey.presented(request.headers["authorization"])
    if key is None:
        raise Unauthorized
    return key.secret


def _body(request: Request[Any, Any, Any]) -> str:
    return json.dumps(request.state.body, sort_keys=True)


def _seal(slot: _Slot, body: bytes) -> str:
    return to_text(encrypt(slot.sealing, SEALED_BY_CALLER, _bound_to(slot), Secret(zlib.compress(body))))


def _open(slot: _Slot, item: Item) -> Answer:
    compressed = decrypt(slot.sealing, _bound_to(slot), from_text(item.data["body"])).reveal()
    return Answer(item.data["status"], zlib.decompress(compressed), item.data["headers"])


def _bound_to(slot: _Slot) -> bytes:
    return bind("idempotency", *slot.key, slot.request_hash)


def _joined(*parts: str) -> bytes:
    return "".join(f"{len(part)}:{part}" for part in parts).encode()
