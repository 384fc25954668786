"""Which of its objects does PostHog list, for what is asked for?"""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from typing import Any

Json = dict[str, Any]

SEARCHED = {"annotations": ("content",), "feature_flags": ("key", "name"), "persons": ("name", "uuid")}
"""Elsewhere it is the name and the description."""
SIMILARITY_SEARCHED = frozenset({"insights", "dashboards", "surveys", "cohorts"})
"""Where nothing has the words, what is like them comes; cohorts alone do not say so."""
LIKE = 0.5
PARAMETERS = {
    "feature_flags": ("search", "active", "archived", "type", "tags", "key"),
    "insights": ("search", "insight", "saved", "favorited", "short_id"),
    "persons": ("search", "email", "distinct_id"),
    "experiments": ("search", "status", "archived", "feature_flag_id"),
    "surveys": ("search", "status", "type", "archived"),
    "property_definitions": (
        "search",
        "type",
        "event_names",
        "filter_by_event_names",
        "is_numerical",
        "exclude_hidden",
    ),
}


def filter_list(place: str, there: list[Json], asked: dict[str, str]) -> list[Json]:
    found = [each for each in there if _matches_search(place, each, asked)]
    word = asked.get("search", "").lower()
    if not word:
        return found
    exact = [each for each in found if word in _text(place, each)]
    if place not in SIMILARITY_SEARCHED:
        return exact
    similar = [] if exact else [each for each in found if _is_like(word, each)]
    marks = [("exact", each) for each in exact] + [("similar", each) for each in similar]
    return [each if place == "cohorts" else {**each, "search_match_type": mark} for mark, each in marks]


def _text(place: str, found: Json) -> str:
    return " ".join(str(found.get(name) or "") for name in SEARCHED.get(place, ("name", "description"))).lower()


def _is_like(word: str, found: Json) -> bool:
    words = [*str(found["name"]).lower().split(), str(found["name"]).lower()]
    return any(SequenceMatcher(None, word, each).ratio() > LIKE for each in words)


def _matches_search(place: str, found: Json, asked: dict[str, str]) -> bool:
    checks = [_archived(place, found, asked)]
    for name, value in asked.items():
        if name in ("active", "status", "type", "key", "short_id", "saved") and (place, name) != _PROPERTY_TYPE:
            checks.append(_same(place, name, value, found))
    if "favorited" in asked:  # whatever its value
        checks.append(found["favorited"])
    if "feature_flag_id" in asked:
        checks.append(str((found.get("feature_flag") or {}).get("id")) == asked["feature_flag_id"])
    if "email" in asked:
        checks.append(found["properties"].get("email") == asked["email"])
    if "distinct_id" in asked:
        checks.append(asked["distinct_id"] in found["distinct_ids"])
    if "tags" in asked:
        checks.append(bool(set(json.loads(asked["tags"])) & set(found["tags"])))
    if "insight" in asked:
        kind = str((found["query"].get("source") or {}).get("kind"))
        checks.append(asked["insight"] == {"HogQLQuery": "SQL"}.get(kind, kind.removesuffix("Query").upper()))
    if place == "property_definitions":
        checks.append(_is_property(found, asked))
    return all(checks)


def _archived(place: str, found: Json, asked: dict[str, str]) -> bool:
    """Left out, unless they are asked for, or a flag is by its key."""
    if "archived" not in asked:
        return place == "surveys" or "key" in asked or not found.get("archived")
    return bool(found.get("archived")) == (asked["archived"] == "true")


_PROPERTY_TYPE = ("property_definitions", "type")


def _same(place: str, name: str, value: str, found: Json) -> bool:
    if (place, name) == ("feature_flags", "type"):
        is_many = "multivariate" in found["filters"]
        return value == ("multivariant" if is_many else "boolean") or (
            value == "experiment" and found["experiment_set"]
        )
    if (place, name) == ("surveys", "status"):
        return value == ("complete" if found["end_date"] else "running" if found["start_date"] else "draft")
    if value == "STALE":
        return bool(found["status"] == value)
    if name == "key":
        return bool(found["key"].lower() == value.lower())
    there = found[name]
    return value == ((str(there).lower()) if isinstance(there, bool) else there)


def _is_property(found: Json, asked: dict[str, str]) -> bool:
    of, seen = found["of"]
    names = json.loads(asked["event_names"]) if asked.get("filter_by_event_names") == "true" else list(seen)
    numeric = asked.get("is_numerical") is None or found["is_numerical"]
    return of == asked.get("type", "event") and (not seen or bool(set(names) & set(seen))) and numeric
