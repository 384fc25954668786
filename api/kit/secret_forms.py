"""The spellings in which an upstream may return a secret, and the short pieces of them that are searched for first."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

_LINE_ENDS_TO_SPACES = bytes.maketrans(b"\r\n", b"  ")
# A shorter piece of an encoded secret reveals little and occurs in other text by chance.
_SHORTEST_PIECE = 8
_DIGITS = re.compile("[0-9]+")
_PROBE = 32
"""Longer texts are slower to search for."""


class Probes:
    """Pieces of forms: a text that has none of the pieces has none of the forms.

    One piece stands for all forms that contain it. Only the ends of forms are compared: for long forms, to search each
    for all others takes seconds.
    """

    def __init__(self) -> None:
        self._forms: dict[str, list[str]] = {}

    @property
    def forms(self) -> Mapping[str, list[str]]:
        """By the piece that stands for them."""
        return self._forms

    def add(self, form: str) -> None:
        """The shortest form first, since longer ones may contain it."""
        probe, end = _probe(form), form[-2 * _PROBE :]
        if probe not in self._forms:
            probe = next((shorter for shorter in self._forms if shorter in end), probe)
        self._forms.setdefault(probe, []).append(form)


def _probe(form: str) -> str:
    """A piece of the form. In hexadecimal, digits are the same in both cases; the end of a token is its own, while many
    begin alike."""
    digits = max(_DIGITS.findall(form), key=len, default="")
    return digits[:_PROBE] if len(digits) >= _SHORTEST_PIECE else form[-_PROBE:]


def encoded_forms(secret: str) -> Iterator[str]:
    """As text."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield html.escape(secret)
    yield from (raw.hex(), raw.hex().upper())
    quoted = quote(raw, safe="")
    yield from (quoted, quoted.replace("%2F", "/"), quoted.replace("%20", "+"))
    yield from _in_json(secret)
    yield from _in_base64(raw)


def decoded_forms(secret: str) -> Iterator[bytes]:
    """In bytes, with the escapes decoded that `decode_escapes` knows: in UTF-8 as in URLs, in Latin-1 as in JSON. The
    other escapes of JSON, such as that of a line end, stay."""
    in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
    forms = [form for text in (secret, in_json) for form in _in_bytes(text)]
    yield from dict.fromkeys((*forms, decode_escapes(in_json)))


def _in_bytes(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", "surrogatepass").translate(_LINE_ENDS_TO_SPACES, b"\0")
    if not text.isascii() and max(text) <= "\xff":
        yield text.encode("latin-1").translate(_LINE_ENDS_TO_SPACES, b"\0")


def decode_escapes(text: str) -> bytes:
    """With every `%XX`, `\\u00XX` and `\\xXX` decoded. Quoted-printable has the only decoder of such escapes in C.

    A NUL before each escape keeps the decoder from reading two signs in a row as one. Line ends become spaces, since
    after a sign the decoder would skip them.
    """
    raw = text.encode("utf-8", "surrogatepass").translate(_LINE_ENDS_TO_SPACES, b"\0").replace(b"=", b"=3D")
    for sign in (b"%", b"\\u00", b"\\x"):
        raw = raw.replace(sign, b"\0=")
    return binascii.a2b_qp(raw).translate(_LINE_ENDS_TO_SPACES, b"\0")


def _in_json(secret: str) -> Iterator[str]:
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
    if max(secret) > "\xff":  # the others are found decoded
        units = secret.encode("utf-16-be", "surrogatepass")
        digits = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
        yield "".join(f"\\u{code}" for code in digits)
        yield "".join(f"\\u{code.upper()}" for code in digits)


def _in_base64(raw: bytes) -> Iterator[str]:
    """Alone, and within longer base64 text (`user:secret`), where it may begin at any of three offsets in a group."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode().rstrip("=")
        # Characters that share bits with the text before or after the secret are omitted.
        first = (before * 8 + 5) // 6
        last = (before + len(raw)) * 8 // 6
        for piece in (encoded[first:last], encoded if not before else ""):
            if len(piece) >= _SHORTEST_PIECE or (piece and not before):
                yield piece
                yield piece.replace("+", "-").replace("/", "_")
