"""Encryption of a secret under one key, so that only the same key opens it, and only in the same context.

An envelope is `magic 1 | format 1 | suite 1 | key version 4 | salt 32 | commitment 32 | nonce 12 | ciphertext and tag`.
HKDF-SHA-512 derives an AES-256-GCM key for this one envelope, and a commitment to it, from key, salt and context: a
ciphertext that two keys could open is refused before GCM runs. Everything before the ciphertext is authenticated, and
so is the context.
"""

from __future__ import annotations

import hmac
import secrets
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from api.kit.crypto.secret import Secret

KEY_BYTES = 32
BUCKET_BYTES = 64
MAX_KEY_VERSION = 2**32 - 1

_START = b"P\x01\x01"  # magic, format 1, suite 1: HKDF-SHA-512, AES-256-GCM, 32 bytes of commitment
_HEADER = struct.Struct(">3sI32s32s12s")
_LENGTH = struct.Struct(">I")
_TAG_BYTES = 16
_SEAL_LABEL = b"plugboard/seal/v1|"
_DERIVE_LABEL = b"plugboard/derive/v1|"


class CannotOpen(Exception):
    """Altered, moved, cut, or sealed under another or a retired key: deliberately indistinguishable."""

    def __init__(self, message: str = "this sealed value cannot be opened") -> None:
        super().__init__(message)


class _Header(NamedTuple):
    start: bytes
    key_version: int
    salt: bytes
    commitment: bytes
    nonce: bytes


class _OneTime(NamedTuple):
    """The key and commitment that are derived for one envelope. Holds no bytes that a traceback could show."""

    cipher: AESGCM
    commitment: bytes


def encrypt(key: Secret, key_version: int, context: bytes, plaintext: Secret) -> bytes:
    salt, nonce = secrets.token_bytes(32), secrets.token_bytes(12)
    once = _one_time(key, salt, context)
    header = _HEADER.pack(_START, key_version, salt, once.commitment, nonce)
    return header + once.cipher.encrypt(nonce, _pad(plaintext), header + context)


def decrypt(key: Secret, context: bytes, envelope: bytes) -> Secret:
    header = _parse_header(envelope)
    once = _one_time(key, header.salt, context)
    if not hmac.compare_digest(once.commitment, header.commitment):
        raise CannotOpen
    authenticated, ciphertext = envelope[: _HEADER.size], envelope[_HEADER.size :]
    try:
        return _unpad(Secret(once.cipher.decrypt(header.nonce, ciphertext, authenticated + context)))
    except InvalidTag:
        raise CannotOpen from None


def key_version(envelope: bytes) -> int:
    """The version of the owner's key that this claims to be sealed under; verified only by `decrypt`."""
    return _parse_header(envelope).key_version


def bind(*texts: str) -> bytes:
    """A context that differs for every other list of texts: each text is preceded by its length."""
    encoded = [text.encode() for text in texts]
    return b"".join(_LENGTH.pack(len(text)) + text for text in encoded)


def to_text(envelope: bytes) -> str:
    return urlsafe_b64encode(envelope).decode().rstrip("=")


def from_text(text: str) -> bytes:
    """The exact reverse of `to_text`: a text that differs in one character gives other bytes or an error."""
    try:
        envelope = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise CannotOpen from None
    if to_text(envelope) != text:
        raise CannotOpen
    return envelope


def derive(key: Secret, purpose: str) -> Secret:
    """A key for one purpose, from which neither `key` nor the key for another purpose can be computed."""
    info = _DERIVE_LABEL + bind(purpose)
    return Secret(HKDF(SHA512(), KEY_BYTES, salt=None, info=info).derive(key.reveal()))


def _one_time(key: Secret, salt: bytes, context: bytes) -> _OneTime:
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes, this one has {len(key)}")
    derived = HKDF(SHA512(), 2 * KEY_BYTES, salt=salt, info=_SEAL_LABEL + context).derive(key.reveal())
    return _OneTime(AESGCM(derived[:KEY_BYTES]), derived[KEY_BYTES:])


def _parse_header(envelope: bytes) -> _Header:
    if len(envelope) < _HEADER.size + BUCKET_BYTES + _TAG_BYTES:
        raise CannotOpen
    header = _Header(*_HEADER.unpack_from(envelope))
    if header.start != _START:
        raise CannotOpen
    return header


def _pad(plaintext: Secret) -> bytes:
    """Length, plaintext and zeros up to whole buckets, so that the size does not reveal the length of a token."""
    framed = _LENGTH.pack(len(plaintext)) + plaintext.reveal()
    return framed + bytes(-len(framed) % BUCKET_BYTES)


def _unpad(padded: Secret) -> Secret:
    (length,) = _LENGTH.unpack_from(padded.reveal())
    if length > len(padded) - _LENGTH.size:
        raise CannotOpen
    return Secret(padded.reveal()[_LENGTH.size : _LENGTH.size + length])
