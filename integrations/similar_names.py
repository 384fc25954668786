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
"""Bounds on the time for comparing: number of names, characters of each and words of each."""
_SEPARATORS = re.compile(r"[\W_]+")

Likeness = Callable[[str, str], float]
"""A number between 0 and 1 for an unknown and an existing name."""


def similar_names(name: str, existing: Iterable[str], *, limit: int, likeness: Likeness | None = None) -> list[str]:
    """The most similar first; of equally similar names, the first in `existing` is first."""
    likeness = likeness or spelling
    likenesses = {candidate: likeness(name, candidate) for candidate in islice(existing, MAX_COMPARED)}
    similar = [candidate for candidate, value in likenesses.items() if value >= SIMILAR]
    return sorted(similar, key=lambda candidate: -likenesses[candidate])[:limit]


def bare_name(name: str) -> str:
    """The letters and digits of a name, of any script, case-folded."""
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
    return max(spelling(name.casefold(), word) for word in (folded, *folded.split()[:MAX_WORDS]))


def spelling_or_part(name: str, candidate: str) -> float:
    """The likeness of the letters and digits; a name and a part of it are alike."""
    name, candidate = bare_name(name[:MAX_LENGTH]), bare_name(candidate[:MAX_LENGTH])
    if not name or not candidate:
        return 0.0
    is_part = min(len(name), len(candidate)) >= SHORTEST_PART and (name in candidate or candidate in name)
    return max(spelling(name, candidate), CONTAINED if is_part else 0.0)
