"""Filters, ordering and paging of lists, as Linear defines them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from graphql import GraphQLError

from demo.services.linear.data import NOW

Json = dict[str, Any]

USUAL, MOST = 50, 250
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DURATION = re.compile(r"-P(?:T(\d+)(H)|(\d+)([DWMY]))")
DAYS = {"H": 1 / 24, "D": 1, "W": 7, "M": 30, "Y": 365}
COMPARES: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, wanted: value == wanted,
    "neq": lambda value, wanted: value != wanted,
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "lt": lambda value, wanted: value is not None and value < wanted,
    "lte": lambda value, wanted: value is not None and value <= wanted,
    "gt": lambda value, wanted: value is not None and value > wanted,
    "gte": lambda value, wanted: value is not None and value >= wanted,
    "eqIgnoreCase": lambda value, wanted: str(value).lower() == wanted.lower(),
    "contains": lambda value, wanted: wanted in str(value),
    "containsIgnoreCase": lambda value, wanted: wanted.lower() in str(value).lower(),
    "startsWith": lambda value, wanted: str(value).startswith(wanted),
}
QUANTIFIERS = {"some": any, "every": all}


def graphql_error(message: str, code: str = "INPUT_ERROR", kind: str = "invalid input") -> GraphQLError:
    more = {"code": code, "type": kind, "userError": True, "userPresentableMessage": message}
    return GraphQLError(message, extensions=more)


def matches(value: Any, wanted: Json | None) -> bool:
    """`value` is an object of the data, a list of them, or a plain value."""
    if not wanted:
        return True
    if isinstance(value, list):
        return _list_matches(value, wanted)
    if isinstance(value, dict):
        return all(_field_matches(value, name, item) for name, item in wanted.items())
    if "null" in wanted:
        return (value is None) is wanted["null"]
    if wanted.keys() <= COMPARES.keys():
        return all(COMPARES[name](_comparable(value, item), resolve_duration(item)) for name, item in wanted.items())
    return False


def page(items: Sequence[Json], args: Mapping[str, Any]) -> Json:
    """A Relay connection. A cursor is the id of the last item of the page before."""
    if args.get("last") is not None or args.get("before") is not None:
        raise graphql_error("This world pages forward only.")
    first = USUAL if args.get("first") is None else args["first"]
    if not 0 < first <= MOST:
        raise graphql_error(f"first must be between 1 and {MOST}.")
    start = _after(items, args.get("after"))
    shown = list(items[start : start + first])
    cursors = [_cursor(item) for item in shown]
    info = {"hasNextPage": start + first < len(items), "endCursor": cursors[-1] if cursors else None}
    edges = [{"cursor": cursor, "node": node} for cursor, node in zip(cursors, shown, strict=True)]
    return {
        "nodes": shown,
        "edges": edges,
        "pageInfo": {**info, "hasPreviousPage": start > 0, "startCursor": cursors[0] if cursors else None},
        "totalCount": float(len(items)),
    }


def ordered(items: Sequence[Json], args: Mapping[str, Any]) -> list[Json]:
    by = args.get("orderBy") or "createdAt"
    kept = [item for item in items if args.get("includeArchived") or not item.get("archivedAt")]
    return sorted(kept, key=lambda value: str(value.get(by, "")), reverse=True)


def resolve_duration(wanted: Any) -> Any:
    """Durations count from now."""
    ago = DURATION.fullmatch(wanted) if isinstance(wanted, str) else None
    if ago is None:
        return wanted
    days = float(ago[1] or ago[3]) * DAYS[ago[2] or ago[4]]
    return (NOW - timedelta(days=days)).isoformat()


def _comparable(value: Any, wanted: Any) -> Any:
    """Normalises times, so that different precisions compare correctly."""
    if isinstance(value, str) and value.endswith("Z") and isinstance(wanted, str):
        return datetime.fromisoformat(value).isoformat()
    return value


def _field_matches(value: Json, name: str, wanted: Any) -> bool:
    if wanted is None:
        return True
    match name:
        case "and":
            return all(matches(value, item) for item in wanted)
        case "or":
            return any(matches(value, item) for item in wanted)
        case "null":
            return wanted is False
        case "id":
            _check_ids(wanted)
    return matches(value.get(name), wanted)


def _list_matches(values: list[Json], wanted: Json) -> bool:
    of_many = [
        of(matches(value, wanted[name]) for value in values) for name, of in QUANTIFIERS.items() if wanted.get(name)
    ]
    rest = {name: item for name, item in wanted.items() if name not in QUANTIFIERS}
    return all(of_many) and (not rest or any(matches(value, rest) for value in values))


def _check_ids(wanted: Json) -> None:
    values = [wanted.get("eq"), wanted.get("neq"), *(wanted.get("in") or []), *(wanted.get("nin") or [])]
    if not all(UUID.fullmatch(value) for value in values if value is not None):
        raise graphql_error("Argument Validation Error: id must be a UUID.")


def _cursor(item: Json) -> str:
    return str(item.get("id", item.get("url", item.get("type"))))


def _after(items: Sequence[Json], cursor: str | None) -> int:
    if cursor is None:
        return 0
    results = [index for index, item in enumerate(items) if _cursor(item) == cursor]
    if not results:
        raise graphql_error("Argument Validation Error: after must be a cursor of this list.")
    return results[0] + 1
