"""The results of the tools: records, owners, and their text form."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from integrations.hubspot.record_kinds import KINDS
from integrations.text import more_follow, one_line
from integrations.tool import Result

ROOM = 45_000
"""The maximum length of all records of a response."""
IN_A_LIST = (300, 100, 40)
ALONE = (40_000, 3_000, 1_000, 300, 100)
"""Limits for the length of one value; the first that lets all values fit is used."""


class CrmRecord(Result):
    kind: str = Field(description="contact, company or deal.")
    id: str
    name: str = Field(description="Its display name.")
    url: str | None = Field(default=None, description="Link to it in HubSpot.")
    properties: Mapping[str, str] = Field(description="The properties that have a value, by internal name.")
    names: Mapping[str, str] = Field(
        default_factory=dict, description="Names for ids among the properties, by the property's internal name."
    )
    associations: Mapping[str, list[str]] | None = Field(default=None, description="Ids of associated records by kind.")
    archived: bool | None = None
    created_at: str | None = None
    updated_at: str | None = None
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        lines = [f"{self.name} ({self._what})", *filter(None, [self.url, _capitalised(self._when())]), ""]
        lines += [f"{name}: {_indent(value)}" for name, value in self._labelled_values()]
        lines += ["", *self._association_lines()] if self.associations else []
        return "\n".join([*lines, *footer(None, self.notes)])

    def in_a_list(self) -> str:
        facts = [f"{name}: {one_line(value)}" for name, value in self._labelled_values()] or ["(no values)"]
        where = f" {self.url}" if self.url else ""
        return f"- {self.name} ({self._what}){where}\n  {' · '.join(filter(None, [*facts, self._when()]))}"

    @property
    def _what(self) -> str:
        return f"{self.kind} {self.id}{', archived' if self.archived else ''}"

    def _when(self) -> str:
        times = {"created": self.created_at, "updated": self.updated_at}
        text = ", ".join(f"{word} {moment[:16].replace('T', ' ')}" for word, moment in times.items() if moment)
        return text and f"{text} UTC"

    def _labelled_values(self) -> list[tuple[str, str]]:
        labels = {name: f" ({label})" for name, label in self.names.items()}
        return [(name, f"{value}{labels.get(name, '')}") for name, value in self.properties.items()]

    def _association_lines(self) -> list[str]:
        associations = self.associations or {}
        return [f"Associated {kind}: {', '.join(ids) or 'none'}" for kind, ids in associations.items()]


class Records(Result):
    records: list[CrmRecord]
    total: int | None = Field(default=None, description="The number of records on all pages, if HubSpot gives it.")
    next_cursor: str | None = Field(default=None, description="Pass it as `after` for the next page.")
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        first = heading(len(self.records), self.total, self.next_cursor, self._names())
        lines = [record.in_a_list() for record in self.records]
        return "\n".join([first, *lines, *footer(self.next_cursor, self.notes)])

    def _names(self) -> tuple[str, str]:
        return next(
            ((kind.singular, kind.plural) for kind in KINDS.values() if kind.singular == self._kind),
            ("record", "records"),
        )

    @property
    def _kind(self) -> str:
        return self.records[0].kind if self.records else ""


def heading(count: int, total: int | None, next_cursor: str | None, names: tuple[str, str]) -> str:
    """The heading of a list; `names` are the singular and the plural."""
    if not count:
        return f"No more results: all {total:,} are on earlier pages." if total else "Nothing found."
    singular, plural = names
    if total and total > count:
        return f"{count} of {total:,} {plural}:"
    return f"{count} {singular if count == 1 else plural}{', and more follow' if next_cursor else ''}:"


def footer(next_cursor: str | None, notes: list[str]) -> list[str]:
    more = [more_follow("after", next_cursor)] if next_cursor else []
    return ["", *more, *notes] if more or notes else []


def _indent(value: str) -> str:
    """Indent continuation lines, so that a value cannot pass for another line of the result."""
    return "\n  ".join(value.splitlines())


def _capitalised(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


class Owner(Result):
    id: str = Field(description="The value of `hubspot_owner_id` in records.")
    name: str
    email: str | None = None
    user_id: str | None = None
    teams: list[str] = Field(default_factory=list)
    archived: bool | None = Field(default=None, description="True if the owner has left the account.")

    def text(self) -> str:
        return self.line()

    def line(self) -> str:
        left = ", has left" if self.archived else ""
        facts = [f"{self.name} (owner {self.id}{left})", self.email]
        facts += [f"user {self.user_id}" if self.user_id else None]
        facts += [f"teams: {', '.join(self.teams)}" if self.teams else None]
        return " · ".join(filter(None, facts))


class Owners(Result):
    owners: list[Owner]
    total: int | None = None
    next_cursor: str | None = Field(default=None, description="Pass it as `after` for the next page.")
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        return "\n".join(
            [
                heading(len(self.owners), self.total, self.next_cursor, ("owner", "owners")),
                *(f"- {owner.line()}" for owner in self.owners),
                *footer(self.next_cursor, self.notes),
            ]
        )
