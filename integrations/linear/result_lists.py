"""The results of the tools that list: items, next cursor and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from pydantic import Field

from integrations.linear.pagination import Page, S
from integrations.linear.results import Hit, Issue, ListItem, Project, Team
from integrations.text import more_follow
from integrations.tool import Result


class PagingFields(TypedDict):
    has_more: bool
    next_cursor: str | None
    notes: list[str]


def paging(page: Page[S], *more: str) -> PagingFields:
    return {"has_more": page.next_cursor is not None, "next_cursor": page.next_cursor, "notes": [*page.notes, *more]}


class ListResult(Result):
    has_more: bool = False
    next_cursor: str | None = Field(default=None, description="Pass it as `after` for the next page.")
    notes: list[str] = Field(default=[], description="Remarks about this result, such as why it is empty.")

    def items(self) -> Sequence[ListItem]:
        raise NotImplementedError

    def head(self) -> str:
        raise NotImplementedError

    def heading(self, number: int, what: str, order: str = "") -> str:
        if not number:
            return f"No {what} found."
        count_text = f"{number} {what}{'s' if number > 1 else ''}"
        facts = ("and more follow" if self.next_cursor else "", order if number > 1 else "")
        return ", ".join([count_text, *filter(None, facts)]) + ":"

    def text(self) -> str:
        more = more_follow("after", self.next_cursor) if self.next_cursor else None
        paragraphs = (self.head(), *self.notes, *(item.text() for item in self.items()), more)
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


class TeamPage(ListResult):
    teams: list[Team]

    def items(self) -> Sequence[ListItem]:
        return self.teams

    def head(self) -> str:
        return self.heading(len(self.teams), "team")


class ProjectPage(ListResult):
    projects: list[Project]

    def items(self) -> Sequence[ListItem]:
        return self.projects

    def head(self) -> str:
        return self.heading(len(self.projects), "project", "latest change first")


class IssuePage(ListResult):
    issues: list[Issue]
    order: str = Field(default="updatedAt", exclude=True)

    def items(self) -> Sequence[ListItem]:
        return self.issues

    def head(self) -> str:
        order = "latest change first" if self.order == "updatedAt" else "newest first"
        return self.heading(len(self.issues), "issue", order)


class HitPage(ListResult):
    issues: list[Hit]
    total: int | None = Field(default=None, description="Total number of matches.")

    def items(self) -> Sequence[ListItem]:
        return self.issues

    def head(self) -> str:
        if self.total and self.total > len(self.issues) > 0:
            return f"{len(self.issues)} of {self.total} matching issues, best match first:"
        return self.heading(len(self.issues), "issue", "best match first")
