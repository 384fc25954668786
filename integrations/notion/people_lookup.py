"""Looks up the ids of people by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar
from uuid import UUID

from integrations.json_object import Json
from integrations.notion.client import MAX_PAGE, NotionClient
from integrations.notion.property_values import FindPerson, InvalidValue, quoted
from integrations.service_client import ToolFailed
from integrations.similar_names import similar_names
from integrations.text import objects, one_line

MOST_PAGES = 5
MOST_NAMED = 20
MOST_SIMILAR = 5
LONGEST_NAME = 200
HOW_TO_SEE = "`notion_read` with `full` true shows the ids on a page where a person is set"
NO_NAME = "a person must be named, or identified by id"
UNSEEN = f"this connection cannot list people, so pass a person's id; {HOW_TO_SEE}"

_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
Made = TypeVar("Made")


class NamesNeeded(Exception):
    """A person is named, and the members have not been fetched yet."""


@dataclass(frozen=True)
class Member:
    id: str
    name: str
    email: str

    @classmethod
    def of(cls, found: Json) -> Member:
        person = found.get("person")
        email = person.get("email") if isinstance(person, dict) else None
        return cls(str(found.get("id")), one_line(str(found.get("name") or "")), str(email or ""))

    def __str__(self) -> str:
        return f"{self.name} = {self.id}"

    def is_called(self, asked: str) -> bool:
        """Whether this is the whole name or email address; `Hopper, Grace` is Grace Hopper."""
        name = self.name.lower()
        turned = "," in asked and sorted(asked.replace(",", " ").split()) == sorted(name.split())
        return turned or asked in (name, self.email.lower())


@dataclass(frozen=True)
class Members:
    known: Sequence[Member]
    are_all: bool = True

    def id(self, name: str) -> str:
        """The id of the only member with this name, or with these words in the name if all members are known."""
        if of := _id(name):
            return of
        asked = one_line(name[:LONGEST_NAME]).lower()
        if not asked:
            raise InvalidValue(NO_NAME)
        if not self.known:
            raise InvalidValue(UNSEEN)
        found = [person for person in self.known if person.is_called(asked)]
        if not found and self.are_all:
            found = [person for person in self.known if set(asked.split()) <= set(person.name.lower().split())]
        if len(found) == 1:
            return found[0].id
        if found:
            named = ", ".join(map(str, found[:MOST_NAMED]))
            raise InvalidValue(f"several people match {quoted(name)}, so pass an id: {named}")
        raise self._unknown(name, asked)

    def _unknown(self, name: str, asked: str) -> InvalidValue:
        by_name = {person.name.lower(): person.name for person in self.known}
        alike = similar_names(asked, by_name, limit=MOST_SIMILAR) or list(by_name)[:MOST_NAMED]
        more = ", …" if len(alike) < len(by_name) else ""
        named = ", ".join(by_name[name] for name in alike)
        if not self.are_all:
            first = f"none of the first {len(self.known)} people has exactly the name {quoted(name)}"
            return InvalidValue(
                f"{first}. Among them are: {named}{more}. Others can be passed by id only; {HOW_TO_SEE}"
            )
        return InvalidValue(
            f"no person has the name {quoted(name)}. Members: {named}{more}. "
            f"Guests can be passed by id only; {HOW_TO_SEE}"
        )


def _id(name: str) -> str | None:
    """None for a URL: it contains the id of a page."""
    return str(UUID(name.strip())) if _ID.fullmatch(name.strip()) else None


async def with_people(api: NotionClient, work: Callable[[FindPerson], Made]) -> Made:
    """Runs `work`; the members are fetched only if it needs the id of a name."""
    try:
        return work(_only_ids)
    except NamesNeeded:
        return work(cache((await _fetch_members(api)).id))


def _only_ids(name: str) -> str:
    of = _id(name)
    if of is None:
        raise NamesNeeded
    return of


async def _fetch_members(api: NotionClient) -> Members:
    """None of them if the connection lacks the capability."""
    people, cursor = list[Member](), None
    for _ in range(MOST_PAGES):
        try:
            answer = await api.read("/v1/users", {"page_size": MAX_PAGE, "start_cursor": cursor})
        except ToolFailed as failed:
            if failed.kind == "upstream_refused":
                return Members(people, are_all=False)
            raise
        people += [Member.of(user) for user in objects(answer.get("results")) if user.get("type") == "person"]
        cursor = answer.get("next_cursor")
        if not answer.get("has_more"):
            return Members(people)
    return Members(people, are_all=False)
