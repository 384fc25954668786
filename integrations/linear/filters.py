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
UNASSIGNED = frozenset({"null", "none", "nobody", "unassigned", "no assignee"})
NUMBER = re.compile("[0-9]{1,7}")
CYCLES: Mapping[str, str] = {"current": "isActive", "active": "isActive", "next": "isNext", "previous": "isPrevious"}


def by_id(word: str) -> Json | None:
    return {"id": {"eq": word.lower()}} if UUID.fullmatch(word) else None


def text_equals(word: str, *fields: str) -> Json:
    conditions: list[Json] = [{field: {"eqIgnoreCase": word}} for field in fields]
    return conditions[0] if len(conditions) == 1 else {"or": conditions}


def team(word: str) -> Json:
    return by_id(word) or text_equals(word, "key", "name")


def project(word: str) -> Json:
    if id_filter := by_id(word):
        return id_filter
    slug = SLUG_ID.fullmatch(word)
    return {"or": [{"slugId": {"eq": slug[1]}}, text_equals(word, "name")]} if slug else text_equals(word, "name")


def user(word: str) -> Json:
    return by_id(word) or text_equals(word, "name", "displayName", "email")


def label(word: str) -> Json:
    return by_id(word) or text_equals(word, "name")


def is_me(word: str) -> bool:
    return word.casefold() in ("me", "@me")


def is_unassigned(word: str) -> bool:
    return word.casefold() in UNASSIGNED


def assignee(word: str) -> Json:
    if is_me(word):
        return {"isMe": {"eq": True}}
    return {"null": True} if is_unassigned(word) else user(word.removeprefix("@"))


def state(word: str) -> Json:
    return _state(word, STATE_TYPES, CLOSED)


def project_state(word: str) -> Json:
    return _state(word, PROJECT_STATE_TYPES, PROJECT_CLOSED)


def any_of(words: Sequence[str], to_filter: Callable[[str], Json]) -> Json:
    conditions = [to_filter(word) for word in words]
    return conditions[0] if len(conditions) == 1 else {"or": conditions}


def is_kind_of_state(word: str, types: tuple[str, ...] = STATE_TYPES) -> bool:
    return word.casefold() in (*types, "cancelled", "open", "closed")


def _state(word: str, types: tuple[str, ...], closed: tuple[str, ...]) -> Json:
    """A word that is a type matches as type and as name: teams name states after types."""
    if id_filter := by_id(word):
        return id_filter
    plain = word.casefold()
    if plain in ("open", "closed"):
        return {"type": {"nin" if plain == "open" else "in": list(closed)}}
    kind = "canceled" if plain == "cancelled" else plain
    by_name = text_equals(word, "name")
    return {"or": [{"type": {"eq": kind}}, by_name]} if kind in types else by_name


def is_kind_of_cycle(word: str) -> bool:
    return word.casefold() in CYCLES or is_unassigned(word)


def cycle(word: str) -> Json:
    if flag := CYCLES.get(word.casefold()):
        return {flag: {"eq": True}}
    if word.casefold() in UNASSIGNED:
        return {"null": True}
    if NUMBER.fullmatch(word):
        return {"number": {"eq": int(word)}}
    return by_id(word) or text_equals(word, "name")


def issue(word: str) -> Json:
    match = IDENTIFIER.fullmatch(word)
    if match is None:
        return by_id(word) or text_equals(word, "title")
    return {"team": text_equals(match[1], "key"), "number": {"eq": int(match[2])}}


def priority(word: str) -> Json:
    return {"eq": PRIORITIES.index(word)}
