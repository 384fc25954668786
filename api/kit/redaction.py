"""Removes secrets that an upstream sends back from the texts that agents read, and from what is stored of them."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, quote_plus

# Shorter ones occur in ordinary text by chance: removing each `test` or `12345` would spoil results, and the gaps would
# reveal the secret.
SHORTEST_SECRET = 6
# A shorter piece of an encoded secret reveals little and occurs in other text by chance.
_SHORTEST_PIECE = 8
REMOVED = "[removed]"
_ESCAPE, _PERCENT_SIGN = re.compile("%[0-9A-Fa-f]{2}"), re.compile("%")
_NEEDS_NO_ESCAPE = re.compile("[A-Za-z0-9._~-]+")
# Letters, digits and `-._~`, which no ordinary encoder escapes: most texts with escapes have none of these.
_NEEDLESS = "(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
# Each pattern begins with one fixed character, which makes it several times faster.
_NEEDLESS_ESCAPES = (re.compile(f"%{_NEEDLESS}"), re.compile(rf"\\(?:u00|x){_NEEDLESS}"))
_ANY_ESCAPES = (re.compile("%[0-9A-Fa-f]{2}"), re.compile(r"\\(?:u00|x)[0-9A-Fa-f]{2}"))
_LONGEST_ESCAPE = len("\\u0000")
_LINE_ENDS_TO_SPACES = bytes.maketrans(b"\r\n", b"  ")
_WORD = re.compile("[^\\s\"'<>]+")
_MAX_SPELLED_OUT = 20_000
"""Of a longer text that spells a secret out, nothing remains: to search each word would take too long."""
_DIGITS = re.compile("[0-9]+")
_PROBE = 32
"""Longer texts are slower to search for."""
_BY_FREQUENCY = ' etaoinsrhldcumfpg.,wyb"vk:/-_0123459678=()ESTACRINLOPDMUFBGHjxqzWVYKXJQZ'


class Redactor:
    """Finds secrets in all their encoded forms, which take longer to compute than to search for."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(sorted({text for text in secrets if len(text) >= SHORTEST_SECRET}, key=_longest_first))
        forms = {form for secret in self._secrets for form in _forms(secret)}
        self._forms = tuple(sorted(forms, key=_longest_first))
        self._probes = _probes(self._forms)
        self.longest = max(
            (*map(len, self._forms), *(_LONGEST_ESCAPE * len(secret) for secret in self._secrets)), default=0
        )
        # Percent-encoding may come back with lower-case digits.
        self._escaped = tuple(form.lower() for form in self._forms if "%" in form)
        # Most texts with a percent sign have no escape, and looking for one is cheaper than lowering the text.
        self._mark = _ESCAPE if all(map(_ESCAPE.search, self._escaped)) else _PERCENT_SIGN
        self._decoded = tuple(form for secret in self._secrets for form in _decoded_forms(secret))
        self._escapes = _NEEDLESS_ESCAPES if all(map(_NEEDS_NO_ESCAPE.fullmatch, self._secrets)) else _ANY_ESCAPES

    def __repr__(self) -> str:
        return "Redactor(***)"

    def finds_nothing_in(self, text: str) -> bool:
        """Fast; a yes is certain."""
        for character, probes in self._probes:  # no generator expression: this runs for every text
            if character in text:
                for probe in probes:
                    if probe in text:
                        return False
        if "%" not in text and "\\" not in text:
            return True
        return not self._holds_escaped(text) and not self._holds_spelled_out(text)

    def _holds_escaped(self, text: str) -> bool:
        if not self._escaped or not self._mark.search(text):
            return False
        lower = _lower(text)
        return any(form in lower for form in self._escaped)

    def _holds_spelled_out(self, text: str) -> bool:
        """Any character may be escaped, also one that needs no escape."""
        percent, backslash = self._escapes
        if not (percent.search(text) or ("\\" in text and backslash.search(text))):
            return False
        decoded = _decode(text)
        return any(form in decoded for form in self._decoded)

    def __call__(self, text: str) -> str:
        """Form by form: one pattern of all forms would try each of them at each character."""
        if self.finds_nothing_in(text):
            return text
        for form in self._forms:
            text = text.replace(form, REMOVED)
        for form in self._escaped if self._mark.search(text) else ():
            text = _without(form, text)
        return self._without_spelled_out(text) if self._holds_spelled_out(text) else text

    def beginning(self, text: str, length: int) -> str:
        """At most the first `length` characters, redacted. A secret that the cut divides is left out as well.

        Redaction shortens a text, so what was at the cut may come to stand well before the end.
        """
        if len(text) <= length:
            return self(text)
        begun = self(text[: length + self.longest])
        return begun[: max(len(begun) - self.longest, 0)][:length]

    def without_secrets(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The texts that hold no secret; none if a secret is spread over several of them."""
        kept = tuple(text for text in texts if self(text) == text)
        return kept if all(self(joined) == joined for joined in (" ".join(kept), "".join(kept))) else ()

    def _without_spelled_out(self, text: str) -> str:
        """The whole words: no ordinary text spells a secret out, so the rest of the word is worth little."""
        if len(text) <= _MAX_SPELLED_OUT:
            text = _WORD.sub(lambda word: REMOVED if self._holds_spelled_out(word[0]) else word[0], text)
        return REMOVED if self._holds_spelled_out(text) else text


def _longest_first(text: str) -> tuple[int, str]:
    return -len(text), text


def _probes(forms: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Pieces of the forms, by their rarest character: a text without this character has none of the pieces, which is
    much faster to see. A form that contains another one needs no probe."""
    by_character: dict[str, dict[str, None]] = {}
    for form in forms:
        if not any(other in form for other in forms if other != form):
            probe = _probe(form)
            by_character.setdefault(max(probe, key=_rarity), {})[probe] = None
    return tuple((character, tuple(probes)) for character, probes in by_character.items())


def _probe(form: str) -> str:
    """A piece of the form. In hexadecimal, digits are the same in both cases; the end of a token is its own, while many
    begin alike."""
    digits = max(_DIGITS.findall(form), key=len, default="")
    return digits[:_PROBE] if len(digits) >= _SHORTEST_PIECE else form[-_PROBE:]


def _rarity(character: str) -> int:
    rank = _BY_FREQUENCY.find(character)
    return len(_BY_FREQUENCY) if rank < 0 else rank


def _forms(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield html.escape(secret)
    yield from (raw.hex(), raw.hex().upper())
    yield from (quote(raw, safe=""), quote(raw), quote_plus(raw))
    yield from _in_json(secret)
    yield from _in_base64(raw)


def _without(lower_form: str, text: str) -> str:
    lower, pieces, start = _lower(text), list[str](), 0
    while (at := lower.find(lower_form, start)) >= 0:
        pieces += [text[start:at], REMOVED]
        start = at + len(lower_form)
    return "".join([*pieces, text[start:]])


def _lower(text: str) -> str:
    """Of the same length as the text: without this, one letter would become two."""
    return text.replace("\u0130", "i").lower()


def _decode(text: str) -> bytes:
    """With every `%XX`, `\\u00XX` and `\\xXX` decoded. Quoted-printable has the only decoder of such escapes in C.

    A NUL before each escape keeps the decoder from reading two signs in a row as one. Line ends become spaces, since
    after a sign the decoder would skip them.
    """
    raw = text.encode("utf-8", "surrogatepass").translate(_LINE_ENDS_TO_SPACES, b"\0").replace(b"=", b"=3D")
    for sign in (b"%", b"\\u00", b"\\x"):
        raw = raw.replace(sign, b"\0=")
    return binascii.a2b_qp(raw).translate(_LINE_ENDS_TO_SPACES, b"\0")


def _decoded_forms(secret: str) -> Iterator[bytes]:
    """As `_decode` leaves them: in UTF-8 as in URLs, in Latin-1 as in JSON, with the other escapes of JSON."""
    for text in dict.fromkeys((secret, json.dumps(secret, ensure_ascii=False)[1:-1])):
        yield text.encode("utf-8", "surrogatepass").translate(_LINE_ENDS_TO_SPACES, b"\0")
        if not text.isascii() and max(text) <= "\xff":
            yield text.encode("latin-1").translate(_LINE_ENDS_TO_SPACES, b"\0")


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


NO_SECRETS = Redactor()
