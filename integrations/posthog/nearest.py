"""Which of the names that there are is like one that there is none of?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from integrations.posthog.api import PosthogApi, Project
from integrations.posthog.asking import MOST
from integrations.posthog.results import line

MOST_ALIKE, FEW = 5, 10
COMPARED, LEAST_COMPARED = 100, 3
LIKE, HELD = 0.6, 0.8
_BETWEEN = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Names:
    there: list[str]
    are_all: bool

    def like(self, word: str) -> str:
        """In a sentence: those that are like it, or all where they are few; nothing where there is nothing to say."""
        if near := nearest(word, self.there):
            return f"Similar ones: {_written(near)}."
        if not self.are_all or not 0 < len(self.there) <= FEW:
            return ""
        return f"There {'is' if len(self.there) == 1 else 'are'} {_written(self.there)}."


async def names_of(
    api: PosthogApi, project: Project, place: str, query: Mapping[str, object], by: str = "name"
) -> Names:
    """`place`: the end of its path."""
    found = await api.page(project.path(place), query, MOST, 0)
    there = [str(each[by]) for each in found.items[:MOST] if each.get(by)]
    return Names(list(dict.fromkeys(there)), found.next is None)


def nearest(word: str, names: Iterable[str]) -> list[str]:
    """The closest first, whatever stands between their words."""
    plain = _plain(word)
    likeness = {each: _likeness(plain, _plain(each)) for each in names}
    return sorted((each for each in likeness if likeness[each] >= LIKE), key=lambda each: -likeness[each])[:MOST_ALIKE]


def _likeness(one: str, other: str) -> float:
    ratio = SequenceMatcher(None, one, other).ratio() if one and other else 0.0
    is_held = min(len(one), len(other)) >= LEAST_COMPARED and (one in other or other in one)
    return max(ratio, HELD) if is_held else ratio


def _plain(name: str) -> str:
    return _BETWEEN.sub("", name[:COMPARED].lower())


def _written(names: Iterable[str]) -> str:
    return ", ".join(f"`{line(each)}`" for each in names)
