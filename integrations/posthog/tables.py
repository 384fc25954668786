"""Conversion of query results to tables of limited size."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from integrations.json_object import Json
from integrations.posthog.truncation import fit, is_cut, is_representable
from integrations.text import clip, one_line, shorten

TEXT_ROOM, BYTES_ROOM = 30_000, 100_000
LONGEST_CELL, MOST_COLUMNS = 2_100, 60
LONGEST_SHOWN = (2_000, 600, 200)
"""Limits for the length of a value; the first that lets all rows fit is used, else the last."""

Row = list[Any]


CUT = "Values that end in … or [more] are cut: select parts of them, or fewer rows."
NOT_ALL = "Only the first {} of {} rows are shown: select fewer columns or fewer rows."


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    columns: list[str]
    rows: list[list[Any]]
    returned: int = Field(description="The number of rows that PostHog returned; `rows` has the first of them.")

    def text(self) -> str:
        rows = [[cell_text(cell, LONGEST_CELL) for cell in row] for row in self.rows]
        return "\n".join(
            [" | ".join(cell_text(column, LONGEST_CELL) for column in self.columns), *map(" | ".join, rows)]
        )

    def notes(self) -> list[str]:
        """Notes on what is missing, and how to read it."""
        cut = any(is_cut(cell_text(cell, LONGEST_CELL)) for row in self.rows for cell in row)
        rest = [NOT_ALL.format(len(self.rows), self.returned)] if self.returned > len(self.rows) else []
        return [*([CUT] if cut else []), *rest]


def table(columns: Sequence[object], rows: Sequence[Sequence[object]]) -> Table:
    """A table of as many rows as fit, with the longest values that allow it."""
    kept = list[Row]()
    for longest in LONGEST_SHOWN:
        kept = _fitting_rows(rows, longest)
        if len(kept) == len(rows):
            break
    names = [clip(one_line(str(column)), LONGEST_SHOWN[-1]) for column in columns[:MOST_COLUMNS]]
    return Table(columns=names, rows=kept, returned=len(rows))


def _fitting_rows(rows: Sequence[Sequence[object]], longest: int) -> list[Row]:
    text, room, kept = TEXT_ROOM, BYTES_ROOM, list[Row]()
    for row in rows:
        cells = [_cell(cell, longest) for cell in row[:MOST_COLUMNS]]
        text -= sum(len(cell_text(cell, LONGEST_CELL)) + 3 for cell in cells)
        room -= len(json.dumps(cells, ensure_ascii=False).encode())
        if kept and (text < 0 or room < 0):
            break
        kept.append(cells)
    return kept


def table_of(response: Json) -> Table | None:
    """The table of a query of any kind; None if its result is not a table."""
    results, columns = response.get("results"), response.get("columns")
    if isinstance(results, list) and all(isinstance(result, list) for result in results) and columns:
        return table(columns, results)
    if isinstance(results, list) and results and all(isinstance(result, list) for result in results):
        results = [result for group in results for result in group]  # funnels with a breakdown
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        return None
    for fields, build in SHAPES:
        if results and all(name in results[0] for name in fields):
            return build(results)
    return None if results else table([], [])


def cell_text(cell: object, longest: int) -> str:
    """A cell on one line."""
    match cell:
        case None:
            return ""
        case float():
            return f"{cell:.6g}"
        case str():
            text = cell
        case _:
            text = json.dumps(cell, ensure_ascii=False)
    return shorten(one_line(text).replace("|", "\\|"), longest)


def _cell(value: object, longest: int) -> object:
    if isinstance(value, str):
        return clip(value, longest)
    if isinstance(value, list | dict | int | float):
        return fit(value, longest)[0]
    return value


def _time_series(results: list[Json]) -> Table:
    """One row per day (or hour, week, month), one column per series."""
    days = max((result.get("days") or result.get("labels") or [] for result in results), key=len)
    series = [result.get("data") or [] for result in results]
    columns = ["date", *(_series(result) for result in results)]
    rows = [list(row) for row in zip_longest(days, *series)]
    totals = ["total", *(result.get("count") for result in results)]
    return table(columns, [*rows, totals])


def _totals(results: list[Json]) -> Table:
    return table(["series", "value"], [[_series(result), result.get("aggregated_value")] for result in results])


def _steps(results: list[Json]) -> Table:
    first = results[0].get("count") or 0
    rows = list[Row]()
    before = first
    for result in results:
        count = result.get("count") or 0
        if not result.get("order"):
            first = before = count
        rows.append(
            [_step(result), count, _share(count, first), _share(count, before), result.get("median_conversion_time")]
        )
        before = count
    return table(["step", "persons", "of the first", "of the one before", "median seconds to convert"], rows)


def _cohorts(results: list[Json]) -> Table:
    most = max(len(result.get("values") or []) for result in results)
    rows = [
        [result.get("date") or result.get("label"), *(_count(value) for value in result["values"])]
        for result in results
    ]
    return table(["began", *(f"+{number}" for number in range(most))], rows)


def _paths(results: list[Json]) -> Table:
    return table(
        ["from", "to", "persons"], [[result["source"], result["target"], result.get("value")] for result in results]
    )


SHAPES: tuple[tuple[tuple[str, ...], Callable[[list[Json]], Table]], ...] = (
    (("source", "target"), _paths),
    (("values",), _cohorts),
    (("order", "count"), _steps),
    (("data", "label"), _time_series),
    (("aggregated_value",), _totals),
)
"""Converters by the fields that identify the kind of insight."""


def _series(result: Json) -> str:
    label = str(result.get("label") or (result.get("action") or {}).get("name") or "value")
    period = result.get("compare_label")
    return f"{label} ({period})" if period else label


def _step(result: Json) -> str:
    name = f"{int(result.get('order') or 0) + 1}. {result.get('custom_name') or result.get('name')}"
    breakdown = result.get("breakdown_value")
    breakdown_text = ", ".join(map(str, breakdown)) if isinstance(breakdown, list) else breakdown
    return f"{name} ({breakdown_text})" if breakdown_text else name


def _share(count: float, whole: float) -> str:
    return f"{count / whole:.1%}" if whole and is_representable(count) and is_representable(whole) else ""


def _count(value: object) -> object:
    return value.get("count") if isinstance(value, dict) else value
