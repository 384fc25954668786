"""Cleans text from upstreams of everything invisible, and cuts it to size."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from api.toolbox.output.redaction import NO_SECRETS, REMOVED, Redactor

MAX_ERROR = 1000
_LOOKED_AT = 20
"""Cleaning takes time: at most this many times the shown characters are cleaned."""

_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    # titles, links, device strings; none contains the start of another, so that many starts take no quadratic time
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-Z\\^-~]"
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x9f"  # controls, but for tab and line feed
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b"  # without width
    "\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction: the text reads differently than it is shown
    "\U000e0000-\U000e0fff"  # tags and further selectors: whole hidden messages
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
# Emoji and the scripts of Persia and India need single joiners within words; in any other place they hide something.
_JOINERS = re.compile("(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f\u200c\u200d])")
_JOINER_RUNS = re.compile("([\u200c\u200d])[\u200c\u200d]+")
_SELECTORS = re.compile("([\ufe00-\ufe0f])[\ufe00-\ufe0f]+|(?<![^\\s])[\ufe00-\ufe0f]+")
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # two of them make one flag
_PRINTABLE_AND_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
PART = 65_536
"""Cleaned at once: the intermediate copies take many times the memory of the text."""
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")  # noqa: RUF001  full-width ones end sentences in Chinese and Japanese


def clean(text: str) -> str:
    """Without controls, terminal codes, changes of direction, tags and other invisible characters."""
    if is_clean(text):
        return text
    return "".join(_cleaned(text[at : at + PART]) for at in range(0, len(text), PART))


def is_clean(text: str) -> bool:
    """Fast, since it uses Python's own Unicode tables; a yes is certain."""
    if not text.replace("\n", "").replace("\t", "").isprintable():
        return False
    return text.isascii() or _is_western(text) or not _PRINTABLE_AND_INVISIBLE.search(text)


def _is_western(text: str) -> bool:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _cleaned(text: str) -> str:
    text = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", _ANSI.sub("", text)))
    if text.isascii():  # most text is; the rest takes ten times as long
        return text
    text = _SELECTORS.sub(r"\1", _SURROGATES.sub("\ufffd", text))
    return _JOINERS.sub("", _JOINER_RUNS.sub(r"\1", text))


def clean_json(value: Any, redact: Redactor) -> Any:
    """Every text in it, names included. The decoder has bounded its depth."""
    if isinstance(value, str):
        return redact(clean(redact(value)))
    if isinstance(value, Mapping):
        return {redact(clean(name)): clean_json(member, redact) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [clean_json(element, redact) for element in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and not redact.finds_nothing_in(str(value)):
        return REMOVED  # a secret of digits may come back as a number
    return value


def safe_line(text: str, redact: Redactor = NO_SECRETS, limit: int = MAX_ERROR) -> str:
    """One line, capped. Redacted before the cut, which could leave half of a secret, and before and after cleaning:
    a secret may contain invisible characters, and invisible characters may hide a secret.
    """
    return one_line(redact(clean(redact.beginning(text, _LOOKED_AT * limit))), limit)


def one_line(text: str, limit: int) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: _whole(line, limit - 1)].rstrip() + "…"


def shortened(text: str, limit: int, rest: str = "Ask for less, or for the next page, to get the rest.") -> str:
    """At most `limit` characters, cut at a natural end, with a note of how much is missing and how to get it."""
    if len(text) <= limit:
        return text
    # The note is measured with the largest number that it may contain.
    room = limit - len(_note(len(text), len(text), rest))
    if room <= 0:
        return text[: _whole(text, max(limit - 1, 0))] + "…"[:limit]
    kept = text[: _cut(text, room)].rstrip()
    return kept + _note(len(text) - len(kept), len(text), rest)


def _note(missing: int, total: int, rest: str) -> str:
    return f"\n[{missing} of {total} characters left out. {rest}]"


def _cut(text: str, room: int) -> int:
    """After a line, a sentence or a word that ends in the last quarter; otherwise between two characters."""
    return _whole(text, _readable_end(text, room * 3 // 4, room))


def _readable_end(text: str, start: int, room: int) -> int:
    if (line := text.rfind("\n", start, room)) > 0:
        return line
    if sentences := list(_SENTENCE_END.finditer(text, start, room)):
        return sentences[-1].end()
    if (word := text.rfind(" ", start, room)) > 0:
        return word
    return room


def _whole(text: str, at: int) -> int:
    """The last place up to `at` that does not split a visible character."""
    earliest = max(at - 64, 0)  # no character has more marks
    for place in range(at, earliest, -1):
        if place >= len(text) or not _is_inside(text, place):
            return place
    return at if earliest else 0


def _is_inside(text: str, place: int) -> bool:
    letters = len(text[:place]) - len(text[:place].rstrip(_FLAG_LETTERS))
    halves_a_flag = letters % 2 == 1 and text[place] in _FLAG_LETTERS
    return halves_a_flag or _belongs_together(text[place - 1], text[place])


def _belongs_together(before: str, after: str) -> bool:
    return (
        bool(unicodedata.combining(after))
        or unicodedata.category(after) in ("Mn", "Me", "Mc")  # selectors and the vowels of Indic scripts are among them
        or "\u200d" in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # colours of skin
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
    )
