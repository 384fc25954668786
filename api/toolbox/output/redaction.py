"""Removes secrets that an upstream sends back from the texts that agents read."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

# Shorter ones occur in ordinary text by chance: removing each `test` or `12345` would spoil results, and the gaps would
# reveal the secret.
SHORTEST_SECRET = 6
# A shorter piece of an encoded secret reveals little and occurs in other text by chance.
_SHORTEST_PIECE = 8
REMOVED = "[removed]"
_ESCAPE, _PERCENT_SIGN = re.compile("%[0-9A-Fa-f]{2}"), re.compile("%")


class Redactor:
    """Finds secrets in all their encoded forms, which take longer to compute than to search for."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST_SECRET for form in _forms(secret)}
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))  # the longest first
        self.longest = len(self._forms[0]) if self._forms else 0
        # Percent-encoding may come back with lower-case digits.
        self._escaped = tuple(form.lower() for form in self._forms if "%" in form)
        # Most texts with a percent sign have no escape, and looking for one is cheaper than lowering the text.
        self._mark = _ESCAPE if all(map(_ESCAPE.search, self._escaped)) else _PERCENT_SIGN

    def __repr__(self) -> str:
        return "Redactor(***)"

    def finds_nothing_in(self, text: str) -> bool:
        """Fast; a yes is certain."""
        for form in self._forms:  # no generator expression: this runs for every text
            if form in text:
                return False
        return not self._holds_escaped(text)

    def _holds_escaped(self, text: str) -> bool:
        if not self._escaped or not self._mark.search(text):
            return False
        lower = _lower(text)
        return any(form in lower for form in self._escaped)

    def __call__(self, text: str) -> str:
        """Form by form: one pattern of all forms would try each of them at each character."""
        if self.finds_nothing_in(text):
            return text
        for form in self._forms:
            text = text.replace(form, REMOVED)
        for form in self._escaped if self._mark.search(text) else ():
            text = _without(form, text)
        return text

    def beginning(self, text: str, length: int) -> str:
        """At most the first `length` characters, redacted. A secret that the cut divides is left out as well.

        Redaction shortens a text, so what was at the cut may come to stand well before the end.
        """
        if len(text) <= length:
            return self(text)
        begun = self(text[: length + self.longest])
        return begun[: max(len(begun) - self.longest, 0)][:length]


NO_SECRETS = Redactor()


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield html.escape(secret)
    yield from _in_urls(secret)
    yield from _in_json(secret)
    yield from _in_base64(secret.encode("utf-8", "surrogatepass"))


def _without(lower_form: str, text: str) -> str:
    lower, pieces, start = _lower(text), list[str](), 0
    while (at := lower.find(lower_form, start)) >= 0:
        pieces += [text[start:at], REMOVED]
        start = at + len(lower_form)
    return "".join([*pieces, text[start:]])


def _lower(text: str) -> str:
    """Of the same length as the text: without this, one letter would become two."""
    return text.replace("\u0130", "i").lower()


def _in_urls(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield from (quote(raw, safe=""), quote(raw), quote_plus(raw))


def _in_json(secret: str) -> Iterator[str]:
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")


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
