"""Signed cursors: where the last page ended, valid for one list only."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from api.kit.crypto.secret import Secret

MARK_BYTES = 16
MAX_CURSOR = 600


class InvalidCursor(ValueError):
    pass


class CursorSigner:
    def __init__(self, key: Secret) -> None:
        self._key = key

    def make(self, scope: str, position: str) -> str:
        return _text(self._mark(scope, position) + position.encode())

    def read(self, scope: str, cursor: str) -> str:
        try:
            raw = _bytes(cursor)
            mark, position = raw[:MARK_BYTES], raw[MARK_BYTES:].decode()
        except (binascii.Error, UnicodeError) as error:
            raise InvalidCursor from error
        # Encoded again it must be the same text, so that a position has one cursor.
        if not hmac.compare_digest(mark, self._mark(scope, position)) or _text(raw) != cursor:
            raise InvalidCursor
        return position

    def _mark(self, scope: str, position: str) -> bytes:
        message = f"{len(scope)}:{scope}{position}".encode()
        return hmac.digest(self._key.reveal(), message, hashlib.sha256)[:MARK_BYTES]


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    if len(text) > MAX_CURSOR:
        raise InvalidCursor
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
