"""The list endpoints of PostHog: search, filters and similarity."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from typing import Any

Json = dict[str, Any]

SEARCHED = {"annotations": ("content",), "feature_flags": ("key", "name"), "persons": ("name", "uuid")}
"""The searched fields; by default name and description."""
SIMILARITY_SEARCHED = frozenset({"insights", "dashboards", "surveys", "cohorts"})
"""Lists that return similar objects if none matches; only cohorts do not mark them."""
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


def filter_list(place: str, there: list[Json], query: dict[str, str]) -> list[Json]:
    results = [record for record in there if _matches_search(place, record, query)]
    word = query.get("search", "").lower()
    if not word:
        return results
    exact = [result for result in results if word in _text(place, result)]
    if place not in SIMILARITY_SEARCHED:
        return exact
    similar = [] if exact else [result for result in results if _is_like(word, result)]
    marks = [("exact", item) for item in exact] + [("similar", item) for item in similar]
    return [item if place == "cohorts" else {**item, "search_match_type": mark} for mark, item in marks]


def _text(place: str, object_: Json) -> str:
    return " ".join(str(object_.get(name) or "") for name in SEARCHED.get(place, ("name", "description"))).lower()


def _is_like(word: str, object_: Json) -> bool:
    words = [*str(object_["name"]).lower().split(), str(object_["name"]).lower()]
    return any(SequenceMatcher(None, word, each).ratio() > LIKE for each in words)


def _matches_search(place: str, object_: Json, query: dict[str, str]) -> bool:
    checks = [_archived(place, object_, query)]
    for name, value in query.items():
        if name in ("active", "status", "type", "key", "short_id", "saved") and (place, name) != _PROPERTY_TYPE:
            checks.append(_same(place, name, value, object_))
    if "favorited" in query:  # whatever its value
        checks.append(object_["favorited"])
    if "feature_flag_id" in query:
        checks.append(str((object_.get("feature_flag") or {}).get("id")) == query["feature_flag_id"])
    if "email" in query:
        checks.append(object_["properties"].get("email") == query["email"])
    if "distinct_id" in query:
        checks.append(query["distinct_id"] in object_["distinct_ids"])
    if "tags" in query:
        checks.append(bool(set(json.loads(query["tags"])) & set(object_["tags"])))
    if "insight" in query:
        kind = str((object_["query"].get("source") or {}).get("kind"))
        checks.append(query["insight"] == {"HogQLQuery": "SQL"}.get(kind, kind.removesuffix("Query").upper()))
    if place == "property_definitions":
        checks.append(_is_property(object_, query))
    return all(checks)


def _archived(place: str, object_: Json, query: dict[str, str]) -> bool:
    """Whether an archived object is left out: always, except on request or for a flag by its key."""
    if "archived" not in query:
        return place == "surveys" or "key" in query or not object_.get("archived")
    return bool(object_.get("archived")) == (query["archived"] == "true")


_PROPERTY_TYPE = ("property_definitions", "type")


def _same(place: str, name: str, value: str, object_: Json) -> bool:
    if (place, name) == ("feature_flags", "type"):
        is_many = "multivariate" in object_["filters"]
        return value == ("multivariant" if is_many else "boolean") or (
            value == "experiment" and object_["experiment_set"]
        )
    if (place, name) == ("surveys", "status"):
        return value == ("complete" if object_["end_date"] else "running" if object_["start_date"] else "draft")
    if value == "STALE":
        return bool(object_["status"] == value)
    if name == "key":
        return bool(object_["key"].lower() == value.lower())
    there = object_[name]
    return value == ((str(there).lower()) if isinstance(there, bool) else there)


def _is_property(object_: Json, query: dict[str, str]) -> bool:
    of, seen = object_["of"]
    names = json.loads(query["event_names"]) if query.get("filter_by_event_names") == "true" else list(seen)
    numeric = query.get("is_numerical") is None or object_["is_numerical"]
    return of == query.get("type", "event") and (not seen or bool(set(names) & set(seen))) and numeric
