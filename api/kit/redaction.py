"""Removes secrets that an upstream sends back from the texts that agents read, and from what is stored of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from api.kit.secret_forms import Probes, decode_escapes, decoded_forms, encoded_forms
from api.kit.turns import Pieces

# Shorter ones occur in ordinary text by chance: removing each `test` or `12345` would spoil results, and the gaps would
# reveal the secret.
SHORTEST_SECRET = 6
REMOVED = "[removed]"
_ESCAPE, _PERCENT_SIGN = re.compile("%[0-9A-Fa-f]{2}"), re.compile("%")
_NEEDS_NO_ESCAPE = re.compile("[A-Za-z0-9._~-]+")
# Letters, digits and `-._~`, which no ordinary encoder escapes: most texts with escapes have none of these.
_NEEDLESS = "(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
# Each pattern begins with one fixed character, which makes it several times faster.
_NEEDLESS_ESCAPES = (re.compile(f"%{_NEEDLESS}"), re.compile(rf"\\(?:u00|x){_NEEDLESS}"))
_ANY_ESCAPES = (re.compile("%[0-9A-Fa-f]{2}"), re.compile(r"\\(?:u00|x)[0-9A-Fa-f]{2}"))
_LONGEST_ESCAPE = len("\\u0000")
_WORD = re.compile("[^\\s\"'<>]+")
_MAX_SPELLED_OUT = 20_000
"""Of a longer text that spells a secret out, nothing remains: to search each word would take too long."""
MOST_AT_ONCE = 32_768
"""Characters that are searched in a few milliseconds, unless there are very many secrets."""
_MOST_SEARCHED = 1_000_000
"""The characters of a text times the pieces searched for in it: about two milliseconds."""
_BY_FREQUENCY = ' etaoinsrhldcumfpg.,wyb"vk:/-_0123459678=()ESTACRINLOPDMUFBGHjxqzWVYKXJQZ'


class Redactor:
    """Finds secrets in all their encoded forms, which take longer to compute than to search for."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        for _ in self.prepare(secrets):
            pass

    @classmethod
    async def of(cls, secrets: Iterable[str]) -> Redactor:
        """In pieces: the forms of many long secrets take a tenth of a second."""
        redactor, pieces = cls.__new__(cls), Pieces()
        for _ in redactor.prepare(secrets):
            await pieces.pause()
        return redactor

    def prepare(self, secrets: Iterable[str]) -> Iterator[None]:
        """In steps of a millisecond."""
        self._secrets = tuple(sorted({text for text in secrets if len(text) >= SHORTEST_SECRET}, key=_longest_first))
        forms = dict[str, None]()
        for secret in self._secrets:
            for form in encoded_forms(secret):
                forms[form] = None
                yield
        yield from self._build_probes(sorted(forms, key=_longest_first, reverse=True))
        # Percent-encoding may come back with lower-case digits.
        self._escaped = tuple(form.lower() for form in sorted(forms, key=_longest_first) if "%" in form)
        yield
        # Most texts with a percent sign have no escape, and looking for one is cheaper than lowering the text.
        self._mark = _ESCAPE if all(map(_ESCAPE.search, self._escaped)) else _PERCENT_SIGN
        decoded = list[bytes]()
        for secret in self._secrets:
            decoded += decoded_forms(secret)
            yield
        self._decoded = tuple(decoded)
        self._escapes = _NEEDLESS_ESCAPES if all(map(_NEEDS_NO_ESCAPE.fullmatch, self._secrets)) else _ANY_ESCAPES
        self.longest = max((*map(len, forms), *(_LONGEST_ESCAPE * len(secret) for secret in self._secrets)), default=0)

    def _build_probes(self, forms: Iterable[str]) -> Iterator[None]:
        """By their rarest character: a text without this character has none of them, which is much faster to see."""
        probes, by_character = Probes(), dict[str, list[str]]()
        for form in forms:
            probes.add(form)
            yield
        for probe in probes.forms:
            by_character.setdefault(max(probe, key=_rarity), []).append(probe)
        self._forms = probes.forms
        self._probes = tuple((character, tuple(some)) for character, some in by_character.items())
        self.most_at_once = min(MOST_AT_ONCE, _MOST_SEARCHED // max(len(self._forms), 1))

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

    async def finds_nothing_in_long(self, text: str, pieces: Pieces) -> bool:
        """In pieces, for texts of many times `most_at_once`."""
        for probe in self._forms:
            if probe in text:
                return False
            await pieces.pause()
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
        decoded = decode_escapes(text)
        return any(form in decoded for form in self._decoded)

    def __call__(self, text: str) -> str:
        """Form by form: one pattern of all forms would try each of them at each character."""
        if self.finds_nothing_in(text):
            return text
        for form in self._possible_in(text):
            text = text.replace(form, REMOVED)
        for form in self._escaped if self._mark.search(text) else ():
            text = _without(form, text)
        return self._without_spelled_out(text) if self._holds_spelled_out(text) else text

    def _possible_in(self, text: str) -> list[str]:
        found = [form for probe, forms in self._forms.items() if probe in text for form in forms]
        return sorted(found, key=_longest_first)

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


def _rarity(character: str) -> int:
    rank = _BY_FREQUENCY.find(character)
    return len(_BY_FREQUENCY) if rank < 0 else rank


def _without(lower_form: str, text: str) -> str:
    lower, pieces, start = _lower(text), list[str](), 0
    while (at := lower.find(lower_form, start)) >= 0:
        pieces += [text[start:at], REMOVED]
        start = at + len(lower_form)
    return "".join([*pieces, text[start:]])


def _lower(text: str) -> str:
    """Of the same length as the text: without this, one letter would become two."""
    return text.replace("\u0130", "i").lower()


NO_SECRETS = Redactor()
