"""Suggestions of existing names that are similar to an unknown one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.params import MOST
from integrations.posthog.results import line
from integrations.similar_names import similar_names, spelling_or_part

MOST_ALIKE, FEW = 5, 10


@dataclass(frozen=True, slots=True)
class Names:
    there: list[str]
    are_all: bool

    def like(self, word: str) -> str:
        """A sentence with similar names, or with all names if they are few; else an empty text."""
        if near := similar_names(word, self.there, limit=MOST_ALIKE, likeness=spelling_or_part):
            return f"Similar names: {_written(near)}."
        if not self.are_all or not 0 < len(self.there) <= FEW:
            return ""
        return f"Existing names: {_written(self.there)}."


async def names_of(
    api: PosthogApi, project: Project, place: str, query: Mapping[str, object], by: str = "name"
) -> Names:
    """Names at a path of the project."""
    found = await api.page(project.path(place), query, MOST, 0)
    there = [str(item[by]) for item in found.items[:MOST] if item.get(by)]
    return Names(list(dict.fromkeys(there)), found.next is None)


def _written(names: Iterable[str]) -> str:
    return ", ".join(f"`{line(name)}`" for name in names)
