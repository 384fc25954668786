"""The stored record of a request with an `Idempotency-Key`, and its sealed response.

The response is sealed with a secret that only the same principal's requests yield: it may hold an API key, which is
shown once, so only the principal that received it can read it again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.access.context import OperatorContext, WorkspaceContext
from api.access.repository import OPERATORS
from api.errors import IdempotencyKeyReused, Unauthorized, ValidationFailed
from api.http.operations import REPLAYED
from api.http.request import AnyRequest
from api.http.responses import StoredResponse
from api.kit.crypto.envelope import bind, decrypt, derive, encrypt, from_text, to_text
from api.kit.crypto.secret import Secret
from api.kit.storage.store import Item, Key, Store

HEADER = "Idempotency-Key"
KEPT_SECONDS = 24 * 3600
PRINCIPAL_KEY_NUMBER = 1  # the envelope's key number: there is one key, the principal's
KEY_FORM = re.compile(r"[\x21-\x7e]{1,255}")
_RAW_HEADER = HEADER.lower().encode()

Data = Mapping[str, Any]


def idempotency_key(request: AnyRequest) -> str | None:
    """The first one if there are several. Reads the raw headers, because every tool call runs this."""
    for name, value in request.scope["headers"]:
        if name == _RAW_HEADER:
            return value.decode("latin-1")
    return None


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """The location of a request's record, a hash of the request, and the key that seals its response."""

    key: Key
    request_hash: str
    sealing: Secret

    @classmethod
    async def for_request(cls, request: AnyRequest, idempotency_key: str) -> IdempotencyRecord:
        if not KEY_FORM.fullmatch(idempotency_key):
            raise ValidationFailed.at(HEADER, "Must be 1 to 255 visible ASCII characters.")
        context: WorkspaceContext | OperatorContext = request.state.context
        partition = context.partition if isinstance(context, WorkspaceContext) else OPERATORS
        secret, path = await _sealing_secret(context), str(request.scope["path"])
        digest = hashlib.sha256(_join(context.principal.id, path, idempotency_key)).hexdigest()
        content = _join(request.method, path, request.scope["query_string"].decode("latin-1"), _body(request))
        # Keyed, because the body may hold a password: a bare hash would let guesses be tested on a copy of the table.
        request_hash = hmac.digest(derive(secret, f"idempotent request {digest}").reveal(), content, hashlib.sha256)
        return cls(Key(partition, f"IDEMPOTENCY#{digest}"), request_hash.hex(), derive(secret, f"idempotency {digest}"))

    async def load(self, store: Store) -> Item | None:
        """The stored record; `IdempotencyKeyReused` if it belongs to another request."""
        item = await store.get(self.key)
        if item is not None and item.data["request"] != self.request_hash:
            raise IdempotencyKeyReused
        return item

    def data(self, **fields: Any) -> Data:
        return {"request": self.request_hash, **fields}

    def data_with(self, response: StoredResponse) -> Data:
        envelope = encrypt(self.sealing, PRINCIPAL_KEY_NUMBER, self._bound_to, Secret(zlib.compress(response.body)))
        return self.data(status=response.status, headers=dict(response.headers), body=to_text(envelope))

    def response(self, item: Item) -> StoredResponse:
        compressed = decrypt(self.sealing, self._bound_to, from_text(item.data["body"])).reveal()
        headers = {**item.data["headers"], REPLAYED: "true"}
        return StoredResponse(item.data["status"], zlib.decompress(compressed), headers)

    @property
    def _bound_to(self) -> bytes:
        return bind("idempotency", *self.key, self.request_hash)


async def _sealing_secret(context: WorkspaceContext | OperatorContext) -> Secret:
    if context.credentials is None:
        raise Unauthorized
    return await context.credentials.sealing_secret()


def _body(request: AnyRequest) -> str:
    return json.dumps(request.state.body, sort_keys=True)


def _join(*texts: str) -> bytes:
    return "".join(f"{len(text)}:{text}" for text in texts).encode()
