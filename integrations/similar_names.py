"""Existing names that are spelt like a name that does not exist, for errors that suggest a correction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, pairwise

SIMILAR = 0.6
"""The likeness from which a name is suggested, as in `difflib`."""
CONTAINED = 0.8
"""The likeness of a name and a part of it."""
SHORTEST_PART = 3
MAX_COMPARED, MAX_LENGTH, MAX_WORDS = 1_000, 100, 5
"""Bounds on the time for comparing: number of names, characters of each and words of each."""
MAX_CHARACTERS = 12_000
"""Of all names together."""
MAX_CELLS = 15_000
"""Of comparing letter by letter: the lengths of two names, multiplied. Each takes up to 0.1 µs."""
_SEPARATORS = re.compile(r"[\W_]+")

Likeness = Callable[[str, str], float]
"""A number between 0 and 1 for an unknown and an existing name."""


def similar_names(name: str, existing: Iterable[str], *, limit: int, likeness: Likeness | None = None) -> list[str]:
    """The most similar first; of equally similar names, the first in `existing` is first.

    Of many names, only those that have most pairs of letters in common with it are compared.
    """
    likeness = likeness or spelling
    candidates = dict.fromkeys(_first(existing))
    likenesses = {candidate: likeness(name, candidate) for candidate in _promising(name, list(candidates))}
    similar = [candidate for candidate in candidates if likenesses.get(candidate, 0) >= SIMILAR]
    return sorted(similar, key=lambda candidate: -likenesses[candidate])[:limit]


def nearest_name(name: str, existing: Iterable[str]) -> str | None:
    """The most similar existing name, if any is similar."""
    return next(iter(nearest_names(name, existing, 1)), None)


def nearest_names(name: str, existing: Iterable[str], limit: int) -> list[str]:
    """The most similar existing names, if any are similar."""
    return similar_names(name, existing, limit=limit)


def _first(existing: Iterable[str]) -> Iterator[str]:
    left = MAX_CHARACTERS
    for candidate in islice(existing, MAX_COMPARED):
        left -= min(len(candidate), MAX_LENGTH)
        if left < 0:
            return
        yield candidate


def _promising(name: str, candidates: Sequence[str]) -> list[str]:
    """As many as can be compared letter by letter, those with the most pairs in common first."""
    length = min(len(name), MAX_LENGTH)
    if length * sum(min(len(candidate), MAX_LENGTH) for candidate in candidates) <= MAX_CELLS:
        return list(candidates)
    pairs = _pairs(name)
    in_common = {candidate: _share(pairs, _pairs(candidate)) for candidate in candidates}
    promising, left = list[str](), MAX_CELLS
    for candidate in sorted(candidates, key=lambda candidate: -in_common[candidate]):
        left -= length * min(len(candidate), MAX_LENGTH)
        if left < 0:
            break
        promising.append(candidate)
    return promising


def _pairs(name: str) -> set[tuple[str, ...]]:
    folded = name[:MAX_LENGTH].casefold()
    return {*pairwise(folded), *zip(folded, strict=True)}


def _share(pairs: set[tuple[str, ...]], others: set[tuple[str, ...]]) -> float:
    return 2 * len(pairs & others) / (len(pairs) + len(others) or 1)


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
