"""How do results become a table, and how much of it is shown?"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from integrations.posthog.results import fitted
from integrations.reading import one_line, shortened
from integrations.tool import Json

TEXT_ROOM, BYTES_ROOM = 30_000, 100_000
LONGEST_CELL, MOST_COLUMNS = 2_000, 60
LONGEST_SHOWN = (LONGEST_CELL, 600, 200)
"""Of a cell, in the text: the first where all of it has room, or the last."""

Row = list[Any]


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    columns: list[str]
    rows: list[list[Any]]
    returned: int = Field(description="How many rows PostHog gave; the first of them are in `rows`.")

    def text(self) -> str:
        for longest in LONGEST_SHOWN:
            told = [[shown(cell, longest) for cell in row] for row in self.rows]
            if sum(len(cell) + 3 for row in told for cell in row) <= TEXT_ROOM:
                break
        lines = [" | ".join(self.columns), *(" | ".join(row) for row in told)]
        if any(cell.endswith("…") for row in told for cell in row):
            lines.append(
                f"[Values are cut at {longest} characters, as the … tells: select parts of them, or fewer rows.]"
            )
        if self.returned > len(self.rows):
            first = f"the first {len(self.rows)} of {self.returned} rows"
            lines.append(f"[Shown are {first}: ask for fewer columns, or for less at once.]")
        return "\n".join(lines)


def table(columns: Sequence[object], rows: Sequence[Sequence[object]]) -> Table:
    """As many rows as there is room for."""
    text, room, kept = TEXT_ROOM, BYTES_ROOM, list[Row]()
    for row in rows:
        cells = [_cell(each) for each in row[:MOST_COLUMNS]]
        text -= sum(len(shown(each, LONGEST_SHOWN[-1])) + 3 for each in cells)
        room -= len(json.dumps(cells, ensure_ascii=False).encode())
        if kept and (text < 0 or room < 0):
            break
        kept.append(cells)
    names = [shortened(str(each), LONGEST_SHOWN[-1]) for each in columns[:MOST_COLUMNS]]
    return Table(columns=names, rows=kept, returned=len(rows))


def table_of(response: Json) -> Table | None:
    """Of a query of any kind; None where its result is no table."""
    results, columns = response.get("results"), response.get("columns")
    if isinstance(results, list) and all(isinstance(each, list) for each in results) and columns:
        return table(columns, results)
    if isinstance(results, list) and results and all(isinstance(each, list) for each in results):
        results = [each for group in results for each in group]  # funnels with a breakdown
    if not isinstance(results, list) or not all(isinstance(each, dict) for each in results):
        return None
    for fits, made in SHAPES:
        if results and all(name in results[0] for name in fits):
            return made(results)
    return None if results else table([], [])


def shown(cell: object, longest: int) -> str:
    """On one line."""
    match cell:
        case None:
            return ""
        case float():
            return f"{cell:.6g}"
        case str():
            text = cell
        case _:
            text = json.dumps(cell, ensure_ascii=False)
    return shortened(one_line(text).replace("|", "\\|"), longest)


def _cell(value: object) -> object:
    if isinstance(value, str | list | dict):
        cut, _ = fitted(value, LONGEST_CELL)
        return cut
    return value


def _over_time(results: list[Json]) -> Table:
    """A row a day (or hour, week, month), a column a series."""
    days = max((each.get("days") or each.get("labels") or [] for each in results), key=len)
    series = [each.get("data") or [] for each in results]
    columns = ["date", *(_series(each) for each in results)]
    rows = [list(each) for each in zip_longest(days, *series)]
    totals = ["total", *(each.get("count") for each in results)]
    return table(columns, [*rows, totals])


def _in_all(results: list[Json]) -> Table:
    return table(["series", "value"], [[_series(each), each.get("aggregated_value")] for each in results])


def _steps(results: list[Json]) -> Table:
    first = results[0].get("count") or 0
    rows = list[Row]()
    before = first
    for each in results:
        count = each.get("count") or 0
        if not each.get("order"):
            first = before = count
        rows.append(
            [_step(each), count, _share(count, first), _share(count, before), each.get("median_conversion_time")]
        )
        before = count
    return table(["step", "persons", "of the first", "of the one before", "median seconds to convert"], rows)


def _cohorts(results: list[Json]) -> Table:
    most = max(len(each.get("values") or []) for each in results)
    rows = [[each.get("date") or each.get("label"), *(_count(one) for one in each["values"])] for each in results]
    return table(["began", *(f"+{number}" for number in range(most))], rows)


def _ways(results: list[Json]) -> Table:
    return table(["from", "to", "persons"], [[each["source"], each["target"], each.get("value")] for each in results])


SHAPES: tuple[tuple[tuple[str, ...], Callable[[list[Json]], Table]], ...] = (
    (("source", "target"), _ways),
    (("values",), _cohorts),
    (("order", "count"), _steps),
    (("data", "label"), _over_time),
    (("aggregated_value",), _in_all),
)
"""By what each result has, the kind of insight that it is of."""


def _series(found: Json) -> str:
    label = str(found.get("label") or (found.get("action") or {}).get("name") or "value")
    compared = found.get("compare_label")
    return f"{label} ({compared})" if compared else label


def _step(found: Json) -> str:
    name = f"{int(found.get('order') or 0) + 1}. {found.get('custom_name') or found.get('name')}"
    breakdown = found.get("breakdown_value")
    of = ", ".join(map(str, breakdown)) if isinstance(breakdown, list) else breakdown
    return f"{name} ({of})" if of else name


def _share(count: float, whole: float) -> str:
    return f"{count / whole:.1%}" if whole else ""


def _count(found: object) -> object:
    return found.get("count") if isinstance(found, dict) else found
