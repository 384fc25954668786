"""What does a model get to read of the owners of records?"""

from __future__ import annotations

from pydantic import Field

from integrations.hubspot.results import counted, noted
from integrations.tool import Result


class Owner(Result):
    id: str = Field(description="As records have it in `hubspot_owner_id`.")
    name: str
    email: str | None = None
    user_id: str | None = None
    teams: list[str] = Field(default_factory=list)
    archived: bool | None = Field(default=None, description="They have left.")

    def text(self) -> str:
        return self.line()

    def line(self) -> str:
        left = ", has left" if self.archived else ""
        parts = [f"{self.name} (owner {self.id}{left})", self.email]
        parts += [f"user {self.user_id}" if self.user_id else None]
        parts += [f"teams: {', '.join(self.teams)}" if self.teams else None]
        return " · ".join(filter(None, parts))


class Owners(Result):
    owners: list[Owner]
    total: int | None = None
    next_cursor: str | None = Field(default=None, description="Pass it as `after` for the next page.")
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        return "\n".join(
            [
                counted(len(self.owners), self.total, self.next_cursor, ("owner", "owners")),
                *(f"- {each.line()}" for each in self.owners),
                *noted(self.next_cursor, self.notes),
            ]
        )
