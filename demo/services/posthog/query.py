"""The query endpoint: HogQL over the demo events, and queries of insights."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from demo.services.posthog.data import EVERYBODY, NOW, PAGES, PEOPLE

Json = dict[str, Any]

USUAL_ROWS, MOST_ROWS = 100, 50_000
NO_OFFSET = (
    "OFFSET is not supported on queries made with a personal API key. For pagination, use keyset pagination on the "
    "`timestamp` column, e.g. `WHERE timestamp > :last_seen_timestamp ORDER BY timestamp LIMIT N`."
)
UNITS = {"M": 1 / 1440, "h": 1 / 24, "d": 1, "w": 7, "m": 30, "q": 91, "y": 365}
"""Days per unit. `m` is a month; seconds are not supported."""
ZONE = ZoneInfo("Europe/Berlin")
"""The project's time zone, which applies to times without a zone and to returned event times."""
STARTS: Mapping[str, Callable[[datetime], str]] = {
    "toStartOfHour": lambda at: at.strftime("%Y-%m-%dT%H:00:00"),
    "toStartOfDay": lambda at: at.strftime("%Y-%m-%d"),
    "toStartOfMonth": lambda at: at.strftime("%Y-%m-01"),
}
COHORTS = {"41": "json_extract(properties, '$.plan') = 'pro'", "42": f"id = '{next(iter(PEOPLE))}'"}
"""The members of each cohort."""
LENGTHS = {"MINUTE": "minutes", "HOUR": "hours", "DAY": "days", "WEEK": "weeks"}
TABLES = {
    "events": ("uuid", "event", "timestamp", "distinct_id", "person_id", "properties", "person_properties"),
    "persons": ("id", "properties", "created_at"),
}
_PROPERTY = re.compile(r"\b(person\.)?properties\.(\$?\w+)")
_TRANSLATED = re.compile(r"""json_extract\((person_)?properties, '\$\."([^"]+)"'\)""")
_AGO = re.compile(r"now\(\)\s*-\s*INTERVAL\s+(\d+)\s+(MINUTE|HOUR|DAY|WEEK)", re.IGNORECASE)
_COHORT = re.compile(r"\bIN COHORT (4[12])\b", re.IGNORECASE)
_PLACE = re.compile(r"\{(\w+)\}")


class QueryRefused(Exception):
    """A refused query with PostHog's error code."""

    def __init__(self, value: str, code: str = "invalid_input") -> None:
        super().__init__(value)
        self.said, self.code = value, code


class Queries:
    """Executes queries over `tables`, which are read lazily."""

    def __init__(self, tables: Callable[[], Mapping[str, list[Json]]]) -> None:
        self._tables = tables

    def answer(self, query: Json) -> Json:
        created = {
            "HogQLQuery": self._hogql,
            "EventsQuery": self._events,
            "TrendsQuery": lambda _: {"results": _trends()},
            "FunnelsQuery": lambda _: {"results": _funnel()},
            "RetentionQuery": lambda _: {"results": _retention()},
            "ExperimentQuery": _experiment,
        }.get(str(query.get("kind")))
        if created is None:
            raise QueryRefused(f"Unsupported query kind: {query.get('kind')}")
        return created(query)

    def _hogql(self, query: Json) -> Json:
        text = str(query["query"])
        plain = re.sub(r"'(?:\\.|[^'])*'", "''", text)
        if re.search(r"\boffset\b", plain, re.IGNORECASE):
            raise QueryRefused(NO_OFFSET)
        own = re.search(r"\blimit\s+(\d+)\s*\)?\s*$", plain, re.IGNORECASE)
        limit = min(int(own[1]), MOST_ROWS) if own else USUAL_ROWS
        columns, rows = self._run(text if own else f"{text}\nLIMIT {limit + 1}", query.get("values") or {})
        more = {} if own else {"hasMore": len(rows) > limit, "limit": limit, "offset": 0}
        types = [[name, "String"] for name in columns]
        return {"columns": columns, "results": rows[:limit], "types": types, "query": text, "error": None, **more}

    def _run(self, text: str, values: Json) -> tuple[list[str], list[list[Any]]]:
        database = _database(self._tables())
        try:
            result = database.execute(_translated(text), values)
            columns = [_TRANSLATED.sub(_named, item[0]) for item in result.description]
            return columns, [list(row) for row in result]
        except sqlite3.Error as error:
            raise _refusal_reason(str(error)) from error
        finally:
            database.close()

    def _events(self, query: Json) -> Json:
        known = {"select", "orderBy", "after", "before", "event", "personId", "where", "limit", "offset", "kind"}
        if unknown := query.keys() - known:
            raise QueryRefused(f"Extra inputs are not permitted: {sorted(unknown)}")
        results = [event for event in self._tables()["events"] if _matches_event(event, query)]
        begin, limit = query.get("offset", 0), query.get("limit", USUAL_ROWS)
        rows = [[_column(result, name) for name in query["select"]] for result in results[begin : begin + limit]]
        more = {"hasMore": len(results) > begin + limit, "limit": limit, "offset": begin}
        return {"columns": query["select"], "results": rows, "types": [], **more}


def _matches_event(event: Json, query: Json) -> bool:
    at = datetime.fromisoformat(event["timestamp"])
    after, before = query.get("after", "-24h"), query.get("before")
    if after != "all" and at <= _moment(after):
        return False
    if before and at >= _moment(before):
        return False
    ids = [re.fullmatch(r"distinct_id = '(.*)'", item) for item in query.get("where", [])]
    wanted = [(id_[1] if id_ else "").replace("\\'", "'").replace("\\\\", "\\") for id_ in ids]
    return (
        query.get("event") in (None, event["event"])
        and query.get("personId") in (None, event["person_id"], str(501 + list(EVERYBODY).index(event["person_id"])))
        and all(item == event["distinct_id"] for item in wanted)
    )


def _moment(value: str) -> datetime:
    """An unknown time counts as now."""
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        relative = re.search(r"-?([0-9]+)?([hdwmqyM])(Start)?", value)
        if relative is None:
            return NOW
        at = NOW.astimezone(ZONE) - timedelta(days=UNITS[relative[2]] * int(relative[1] or 0))
        return at.replace(hour=0, minute=0, second=0, microsecond=0) if relative[3] else at
    return at if at.tzinfo else at.replace(tzinfo=ZONE)


def _column(event: Json, name: str) -> Any:
    if name == "timestamp":
        return datetime.fromisoformat(event[name]).astimezone(ZONE).isoformat()
    return event["person_id"] if name == "person.id" else event[name]


def _database(tables: Mapping[str, list[Json]]) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.create_aggregate("uniq", 1, Uniq)  # type: ignore[arg-type]
    database.create_function("now", 0, lambda: NOW.strftime("%Y-%m-%dT%H:%M:%S.000000+00:00"))
    database.create_function("toDate", 1, lambda text: str(text)[:10])
    database.create_function("toStartOfWeek", -1, _week)
    for name, begins in STARTS.items():
        database.create_function(name, 1, lambda text, begins=begins: begins(datetime.fromisoformat(text)))
    people = {person["uuid"]: json.dumps(person["properties"]) for person in tables["persons"]}
    rows = {
        "events": [{**event, "person_properties": people.get(event["person_id"], "{}")} for event in tables["events"]],
        "persons": [
            {**person, "id": person["uuid"], "properties": people[person["uuid"]]} for person in tables["persons"]
        ],
    }
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        places = ", ".join("?" * len(columns))
        database.executemany(
            f"INSERT INTO {name} VALUES ({places})",  # noqa: S608  its own words
            [[row.get(column) for column in columns] for row in rows[name]],
        )
    database.execute("PRAGMA query_only = 1")
    return database


def _week(text: str, mode: int = 0) -> str:
    """The first day of the week: a Sunday, or a Monday in another mode."""
    at = datetime.fromisoformat(text)
    return (at - timedelta(days=at.weekday() if mode else at.isoweekday() % 7)).strftime("%Y-%m-%d")


class Uniq:
    def __init__(self) -> None:
        self._seen = set[Any]()

    def step(self, value: Any) -> None:
        self._seen.add(value)

    def finalize(self) -> int:
        return len(self._seen)


def _translated(text: str) -> str:
    """Translates the supported HogQL to SQLite's SQL."""

    def property_of(match: re.Match[str]) -> str:
        column = "person_properties" if match[1] else "properties"
        return f"json_extract({column}, '$.\"{match[2]}\"')"

    def ago(match: re.Match[str]) -> str:
        at = NOW - timedelta(**{LENGTHS[match[2].upper()]: int(match[1])})
        return at.strftime("'%Y-%m-%dT%H:%M:%S.000000+00:00'")

    def members(match: re.Match[str]) -> str:
        return f"IN (SELECT id FROM persons WHERE {COHORTS[match[1]]})"  # noqa: S608  its own words

    return _PLACE.sub(r":\1", _COHORT.sub(members, _AGO.sub(ago, _PROPERTY.sub(property_of, text))))


def _named(translated: re.Match[str]) -> str:
    """Names columns as PostHog does: as written, unless they have an alias."""
    return f"{'person.' if translated[1] else ''}properties.{translated[2]}"


def _refusal_reason(value: str) -> QueryRefused:
    if missing := re.match(r"no such column: (\S+)", value):
        return QueryRefused(f"Unable to resolve field: {missing[1]}")
    if missing := re.match(r"no such table: (\S+)", value):
        return QueryRefused(f"Unknown table `{missing[1]}`.", "unknown_table")
    return QueryRefused(f"Syntax error: {value}", "syntax_error")


def _trends() -> list[Json]:
    days = [f"2026-11-{day:02d}" for day in range(11, 18)]
    counts = {"Pageview": [3, 3, 3, 3, 3, 3, 2], "order paid": [1, 1, 0, 1, 1, 2, 1]}
    return [
        {"action": {"name": name}, "label": name, "count": sum(data), "data": data, "days": days, "labels": days}
        for name, data in counts.items()
    ]


def _funnel() -> list[Json]:
    usual = {"average_conversion_time": None, "median_conversion_time": None}
    return [
        {**usual, "name": "Pageview", "custom_name": None, "order": 0, "count": 40},
        {**usual, "name": "order paid", "custom_name": None, "order": 1, "count": 10, "median_conversion_time": 310.5},
    ]


def _retention() -> list[Json]:
    fields = {"2026-11-01": [30, 12, 9], "2026-11-08": [25, 11]}
    return [
        {"date": date, "label": f"Week {number}", "values": [{"count": count} for count in counts]}
        for number, (date, counts) in enumerate(fields.items())
    ]


def _experiment(query: Json) -> Json:
    """Metrics from before 2025 have other kinds and another query."""
    if (kind := query.get("metric", {}).get("kind")) != "ExperimentMetric":
        raise QueryRefused(f"metric.kind: Input should be 'ExperimentMetric', not '{kind}'")
    more = {"chance_to_win": 0.942, "credible_interval": [0.012, 0.087], "significant": True, "method": "bayesian"}
    return {
        "kind": "ExperimentQuery",
        "baseline": {"key": "control", "number_of_samples": len(PEOPLE) * 400, "sum": len(PAGES) * 30.0},
        "variant_results": [{"key": "short", "number_of_samples": 1190, "sum": 128.0, **more}],
    }
