"""Lookup of the ids of people by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar
from uuid import UUID

from integrations.json_object import Json
from integrations.notion.client import MAX_PAGE, NotionClient
from integrations.notion.property_values import FindPerson, InvalidValue, quote
from integrations.service_client import ToolFailed
from integrations.similar_names import similar_names
from integrations.text import objects, one_line

MOST_PAGES = 5
MOST_NAMED = 20
MOST_SIMILAR = 5
LONGEST_NAME = 200
HOW_TO_FIND_ID = "`notion_read` with `full` true shows the ids on a page where a person is set"
NO_NAME = "a person must be named, or identified by id"
CANNOT_LIST = f"this connection cannot list people, so pass a person's id; {HOW_TO_FIND_ID}"

_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
T = TypeVar("T")


class NamesNeeded(Exception):
    """A person is given by name, but the members have not been fetched yet."""


@dataclass(frozen=True)
class Member:
    id: str
    name: str
    email: str

    @classmethod
    def of(cls, user: Json) -> Member:
        person = user.get("person")
        email = person.get("email") if isinstance(person, dict) else None
        return cls(str(user.get("id")), one_line(str(user.get("name") or "")), str(email or ""))

    def __str__(self) -> str:
        return f"{self.name} = {self.id}"

    def has_name(self, text: str) -> bool:
        """Whether this is the whole name or email address; `Hopper, Grace` is Grace Hopper."""
        name = self.name.lower()
        is_reversed = "," in text and sorted(text.replace(",", " ").split()) == sorted(name.split())
        return is_reversed or text in (name, self.email.lower())


@dataclass(frozen=True)
class Members:
    members: Sequence[Member]
    is_complete: bool = True

    def id(self, name: str) -> str:
        """The id of the only member with this name, or with these words in the name if all members are known."""
        if person_id := _id(name):
            return person_id
        normalised_name = one_line(name[:LONGEST_NAME]).lower()
        if not normalised_name:
            raise InvalidValue(NO_NAME)
        if not self.members:
            raise InvalidValue(CANNOT_LIST)
        matches = [member for member in self.members if member.has_name(normalised_name)]
        if not matches and self.is_complete:
            matches = [
                member for member in self.members if set(normalised_name.split()) <= set(member.name.lower().split())
            ]
        if len(matches) == 1:
            return matches[0].id
        if matches:
            names = ", ".join(map(str, matches[:MOST_NAMED]))
            raise InvalidValue(f"several people match {quote(name)}, so pass an id: {names}")
        raise self._unknown_person(name, normalised_name)

    def _unknown_person(self, name: str, normalised_name: str) -> InvalidValue:
        by_name = {member.name.lower(): member.name for member in self.members}
        similar = similar_names(normalised_name, by_name, limit=MOST_SIMILAR) or list(by_name)[:MOST_NAMED]
        more = ", …" if len(similar) < len(by_name) else ""
        listed = ", ".join(by_name[name] for name in similar)
        if not self.is_complete:
            first = f"none of the first {len(self.members)} people has exactly the name {quote(name)}"
            return InvalidValue(
                f"{first}. Among them are: {listed}{more}. Others can be passed by id only; {HOW_TO_FIND_ID}"
            )
        return InvalidValue(
            f"no person has the name {quote(name)}. Members: {listed}{more}. "
            f"Guests can be passed by id only; {HOW_TO_FIND_ID}"
        )


def _id(name: str) -> str | None:
    """The id in a text; None for a URL, which contains the id of a page."""
    return str(UUID(name.strip())) if _ID.fullmatch(name.strip()) else None


async def with_people(api: NotionClient, convert: Callable[[FindPerson], T]) -> T:
    """Run `convert`; the members are fetched only if it needs the id of a name."""
    try:
        return convert(_only_ids)
    except NamesNeeded:
        return convert(cache((await _fetch_members(api)).id))


def _only_ids(name: str) -> str:
    person_id = _id(name)
    if person_id is None:
        raise NamesNeeded
    return person_id


async def _fetch_members(api: NotionClient) -> Members:
    """The members of the workspace; none if the connection may not list people."""
    people, cursor = list[Member](), None
    for _ in range(MOST_PAGES):
        try:
            response = await api.read("/v1/users", {"page_size": MAX_PAGE, "start_cursor": cursor})
        except ToolFailed as failed:
            if failed.kind == "upstream_refused":
                return Members(people, is_complete=False)
            raise
        people += [Member.of(user) for user in objects(response.get("results")) if user.get("type") == "person"]
        cursor = response.get("next_cursor")
        if not response.get("has_more"):
            return Members(people)
    return Members(people, is_complete=False)
