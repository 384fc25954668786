"""Existing names that are spelt like a name that does not exist, for errors that suggest a correction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from itertools import islice

SIMILAR = 0.6
"""The likeness from which a name is suggested, as in `difflib`."""
CONTAINED = 0.8
"""The likeness of a name and a part of it."""
SHORTEST_PART = 3
MAX_COMPARED, MAX_LENGTH, MAX_WORDS = 1_000, 100, 5
"""Comparing takes time: names that are compared, characters of each, and words of each."""
_SEPARATORS = re.compile(r"[\W_]+")

Likeness = Callable[[str, str], float]
"""Between 0 and 1, of the unknown name and of one that exists."""


def similar_names(name: str, known: Iterable[str], *, limit: int, likeness: Likeness | None = None) -> list[str]:
    """The most similar first; of equally similar names, the first in `known` is first."""
    likeness = likeness or spelling
    likenesses = {candidate: likeness(name, candidate) for candidate in islice(known, MAX_COMPARED)}
    similar = [candidate for candidate, value in likenesses.items() if value >= SIMILAR]
    return sorted(similar, key=lambda candidate: -likenesses[candidate])[:limit]


def bare_name(name: str) -> str:
    """Only its letters and digits, of any script, without regard to case."""
    return _SEPARATORS.sub("", name.casefold())


def spelling(name: str, candidate: str) -> float:
    """The likeness of two names, letter by letter. Below `SIMILAR` it may be an upper bound, which is faster."""
    length = len(name) + len(candidate)
    if 2 * min(len(name), len(candidate)) < SIMILAR * length:  # no two texts of these lengths are similar
        return 0.0
    matcher = SequenceMatcher(None, candidate[:MAX_LENGTH], name[:MAX_LENGTH])
    upper_bound = matcher.quick_ratio()
    return matcher.ratio() if upper_bound >= SIMILAR else upper_bound


def spelling_of_a_word(name: str, candidate: str) -> float:
    """The likeness to the whole candidate or to one of its words, without regard to case."""
    folded = candidate.casefold()
    return max(spelling(name.casefold(), part) for part in (folded, *folded.split()[:MAX_WORDS]))


def spelling_or_part(name: str, candidate: str) -> float:
    """The likeness of the letters and digits; a name and a part of it are alike."""
    name, candidate = bare_name(name[:MAX_LENGTH]), bare_name(candidate[:MAX_LENGTH])
    if not name or not candidate:
        return 0.0
    is_part = min(len(name), len(candidate)) >= SHORTEST_PART and (name in candidate or candidate in name)
    return max(spelling(name, candidate), CONTAINED if is_part else 0.0)
