"""Which person is meant by a name?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

from integrations.api import ToolFailed
from integrations.notion.api import MAX_PAGE, Json, NotionApi
from integrations.notion.ids import page_id
from integrations.notion.values import Unfit, Who, said
from integrations.reading import objects, one_line

MOST_PAGES = 5
MOST_NAMED = 20
LONGEST_NAME = 200
HOW_TO_SEE = "`notion_read` with `full` true shows the ids on a page where a person is set"
UNSEEN = f"the connection may not see who there is, so a person has to be given by id; {HOW_TO_SEE}"

Made = TypeVar("Made")


class NamesNeeded(Exception):
    """A person is called by a name, and nobody has asked Notion yet who there is."""


@dataclass(frozen=True)
class Person:
    id: str
    name: str
    email: str

    @classmethod
    def of(cls, found: Json) -> Person:
        person = found.get("person")
        email = person.get("email") if isinstance(person, dict) else None
        return cls(str(found.get("id")), one_line(str(found.get("name") or "")), str(email or ""))

    def __str__(self) -> str:
        return f"{self.name} = {self.id}"


@dataclass(frozen=True)
class People:
    known: Sequence[Person]

    def id(self, name: str) -> str:
        """Of the one who is called so, wholly or in part."""
        if is_id(name):
            return page_id(name)
        if not self.known:
            raise Unfit(UNSEEN)
        asked = one_line(name[:LONGEST_NAME]).lower()
        found = [each for each in self.known if asked in (each.name.lower(), each.email.lower())]
        found = found or [each for each in self.known if set(asked.split()) <= set(each.name.lower().split())]
        if len(found) == 1:
            return found[0].id
        if found:
            named = ", ".join(map(str, found[:MOST_NAMED]))
            raise Unfit(f"several people are called {said(name)}, so pass the id: {named}")
        raise self._unknown(name, asked)

    def _unknown(self, name: str, asked: str) -> Unfit:
        by_name = {each.name.lower(): each.name for each in self.known}
        alike = get_close_matches(asked, by_name, n=5) or list(by_name)[:MOST_NAMED]
        more = ", …" if len(alike) < len(by_name) else ""
        named = ", ".join(by_name[each] for each in alike)
        return Unfit(
            f"nobody is called {said(name)}. There are: {named}{more}. Guests are known by id only; {HOW_TO_SEE}"
        )


def is_id(name: str) -> bool:
    try:
        page_id(name)
    except ValueError:
        return False
    return True


async def knowing(api: NotionApi, work: Callable[[Who], Made]) -> Made:
    """Who there is, is asked only where somebody is called by name."""
    try:
        return work(_only_ids)
    except NamesNeeded:
        return work(People(await _everybody(api)).id)


def _only_ids(name: str) -> str:
    if not is_id(name):
        raise NamesNeeded
    return page_id(name)


async def _everybody(api: NotionApi) -> list[Person]:
    """Nobody, where the connection lacks the capability."""
    people, cursor = list[Person](), None
    for _ in range(MOST_PAGES):
        try:
            answer = await api.read("/v1/users", {"page_size": MAX_PAGE, "start_cursor": cursor})
        except ToolFailed as failed:
            if failed.kind == "upstream_refused":
                return people
            raise
        people += [Person.of(each) for each in objects(answer.get("results")) if each.get("type") == "person"]
        cursor = answer.get("next_cursor")
        if not answer.get("has_more"):
            break
    return people
