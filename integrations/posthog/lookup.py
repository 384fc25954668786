"""Suggestions of existing names that are similar to an unknown one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.params import MAX_LIMIT
from integrations.posthog.results import line
from integrations.similar_names import similar_names, spelling_or_part

MOST_ALIKE, FEW = 5, 10


@dataclass(frozen=True, slots=True)
class NameIndex:
    names: list[str]
    is_complete: bool

    def suggestion(self, word: str) -> str:
        """A sentence with similar names, or with all names if they are few; else an empty text."""
        if similar := similar_names(word, self.names, limit=MOST_ALIKE, likeness=spelling_or_part):
            return f"Similar names: {_quote_names(similar)}."
        if not self.is_complete or not 0 < len(self.names) <= FEW:
            return ""
        return f"Existing names: {_quote_names(self.names)}."


async def load_names(
    api: PosthogApi, project: Project, place: str, query: Mapping[str, object], field: str = "name"
) -> NameIndex:
    """Names at a path of the project."""
    page = await api.page(project.path(place), query, MAX_LIMIT, 0)
    names = [str(item[field]) for item in page.items[:MAX_LIMIT] if item.get(field)]
    return NameIndex(list(dict.fromkeys(names)), page.next is None)


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{line(name)}`" for name in names)
