"""Linear's filters for an argument, which may be an id, a key or a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from integrations.json_object import Json
from integrations.linear.parsing import IDENTIFIER, PRIORITIES, SLUG_ID, UUID

STATE_TYPES = ("triage", "backlog", "unstarted", "started", "completed", "canceled", "duplicate")
PROJECT_STATE_TYPES = ("backlog", "planned", "started", "paused", "completed", "canceled")
CLOSED = ("completed", "canceled", "duplicate")
PROJECT_CLOSED = ("completed", "canceled")
NOBODY = frozenset({"null", "none", "nobody", "unassigned", "no assignee"})
NUMBER = re.compile("[0-9]{1,7}")
CYCLES: Mapping[str, str] = {"current": "isActive", "active": "isActive", "next": "isNext", "previous": "isPrevious"}


def by_id(word: str) -> Json | None:
    return {"id": {"eq": word.lower()}} if UUID.fullmatch(word) else None


def called(word: str, *fields: str) -> Json:
    found: list[Json] = [{field: {"eqIgnoreCase": word}} for field in fields]
    return found[0] if len(found) == 1 else {"or": found}


def team(word: str) -> Json:
    return by_id(word) or called(word, "key", "name")


def project(word: str) -> Json:
    if found := by_id(word):
        return found
    slug = SLUG_ID.fullmatch(word)
    return {"or": [{"slugId": {"eq": slug[1]}}, called(word, "name")]} if slug else called(word, "name")


def user(word: str) -> Json:
    return by_id(word) or called(word, "name", "displayName", "email")


def label(word: str) -> Json:
    return by_id(word) or called(word, "name")


def is_me(word: str) -> bool:
    return word.casefold() in ("me", "@me")


def is_nobody(word: str) -> bool:
    return word.casefold() in NOBODY


def assignee(word: str) -> Json:
    if is_me(word):
        return {"isMe": {"eq": True}}
    return {"null": True} if is_nobody(word) else user(word.removeprefix("@"))


def state(word: str) -> Json:
    return _state(word, STATE_TYPES, CLOSED)


def project_state(word: str) -> Json:
    return _state(word, PROJECT_STATE_TYPES, PROJECT_CLOSED)


def any_of(words: Sequence[str], filtered: Callable[[str], Json]) -> Json:
    found = [filtered(each) for each in words]
    return found[0] if len(found) == 1 else {"or": found}


def is_kind_of_state(word: str, types: tuple[str, ...] = STATE_TYPES) -> bool:
    return word.casefold() in (*types, "cancelled", "open", "closed")


def _state(word: str, types: tuple[str, ...], closed: tuple[str, ...]) -> Json:
    """A word that is a type matches as type and as name: teams name states after types."""
    if found := by_id(word):
        return found
    plain = word.casefold()
    if plain in ("open", "closed"):
        return {"type": {"nin" if plain == "open" else "in": list(closed)}}
    kind = "canceled" if plain == "cancelled" else plain
    named = called(word, "name")
    return {"or": [{"type": {"eq": kind}}, named]} if kind in types else named


def is_kind_of_cycle(word: str) -> bool:
    return word.casefold() in CYCLES or is_nobody(word)


def cycle(word: str) -> Json:
    if known := CYCLES.get(word.casefold()):
        return {known: {"eq": True}}
    if word.casefold() in NOBODY:
        return {"null": True}
    if NUMBER.fullmatch(word):
        return {"number": {"eq": int(word)}}
    return by_id(word) or called(word, "name")


def issue(word: str) -> Json:
    found = IDENTIFIER.fullmatch(word)
    if found is None:
        return by_id(word) or called(word, "title")
    return {"team": called(found[1], "key"), "number": {"eq": int(found[2])}}


def priority(word: str) -> Json:
    return {"eq": PRIORITIES.index(word)}
