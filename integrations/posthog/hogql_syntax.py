"""Just enough of HogQL's syntax to check that a query is one SELECT, and to find its LIMIT and event names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

MOST_ROWS = 50_000
"""The maximum of rows that PostHog returns."""
OPENING_BRACKETS, CLOSING_BRACKETS = "([{", ")]}"
SET_OPERATORS = frozenset({"union", "intersect", "except"})
NOT_A_READ = "must be one SELECT (or WITH … SELECT): HogQL only reads"
NOT_ONE = "must be one query, without `;`: send several queries one by one"
NOT_CLOSED = "has a bracket, a quote or a comment that is not closed"
MOST_TOKENS = 60
"""The maximum of tokens read of a list of names."""
EVENT = frozenset({"event", '"event"', "`event`"})
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TOKEN = re.compile(
    r"""
      (?P<gap>  \s+ | --[^\n]* | //[^\n]* | /\*.*?\*/ )
    | (?P<text> '(?:\\.|''|[^'\\])*' | "(?:\\.|[^"\\])*" | `(?:\\.|[^`\\])*` )
    | (?P<open> /\* | ['"`] )
    | (?P<word> \w+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    depth: int
    end: int


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    limit: int | None
    """The LIMIT of the query; None if it has none that is a number."""

    has_limit: bool
    combines_selects: bool = False
    """Whether it combines several SELECTs: a LIMIT at its end would only apply to the last one."""

    @classmethod
    def read(cls, text: str) -> Query:
        """Parse a query; a `ValueError` says what to change."""
        tokens = list(_tokens(text))
        while tokens and tokens[-1].text == ";":
            tokens.pop()
        outer = [token.text.lower() for token in tokens if not token.depth]
        if not outer or outer[0] not in ("select", "with", "("):
            raise ValueError(NOT_A_READ)
        if ";" in outer:
            raise ValueError(NOT_ONE)
        own = [after for after in _limit_tokens(outer) if not _is_limit_by(after)]
        return cls(text[: tokens[-1].end], _number(own[-1]) if own else None, bool(own), _combines_selects(outer))

    def within(self, limit: int) -> str:
        """The query with a LIMIT, on a new line because the query may end with a comment."""
        if self.has_limit:
            return self.text
        if self.combines_selects:
            return "\n".join(["SELECT * FROM (", self.text, f") LIMIT {limit}"])
        return f"{self.text}\nLIMIT {limit}"


def quote_literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def event_names_in(text: str, values: Mapping[str, object]) -> list[str]:
    """Event names that a query compares with: `event = 'paid'`, `event IN ('paid', {name})`."""
    words = [token.text for token in _tokens(text)]
    names = list[object]()
    for index in (index for index, word in enumerate(words) if word.lower() in EVENT):
        match [word.lower() for word in words[index + 1 : index + 3]]:
            case ["=", "="]:
                names += _literals(words[index + 3 : index + 6], values)
            case ["=", _]:
                names += _literals(words[index + 2 : index + 5], values)
            case ["in", "("]:
                names += _literals(words[index + 3 : index + 3 + MOST_TOKENS], values)
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _literals(words: list[str], values: Mapping[str, object]) -> Iterator[object]:
    """The leading string literals and values of `{name}`."""
    while words:
        length = 1
        if words[0] == "{" and words[2:3] == ["}"]:
            length = 3
            yield values.get(words[1])
        elif words[0].startswith("'"):
            yield _ESCAPED.sub(r"\1", words[0][1:-1].replace("''", "'"))
        else:
            return
        if words[length : length + 1] != [","]:
            return
        words = words[length + 1 :]


def _tokens(text: str) -> Iterator[Token]:
    depth = 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "open":
            raise ValueError(NOT_CLOSED)
        if match.lastgroup == "gap":
            continue
        depth -= match[0] in CLOSING_BRACKETS
        if depth < 0:
            raise ValueError(NOT_CLOSED)
        yield Token(match[0], depth, match.end())
        depth += match[0] in OPENING_BRACKETS
    if depth:
        raise ValueError(NOT_CLOSED)


def _limit_tokens(outer: list[str]) -> Iterator[list[str]]:
    """The tokens after each LIMIT; a column may also have the name limit."""
    for index, word in enumerate(outer):
        after = outer[index + 1 : index + 6]
        is_name = index and outer[index - 1] in (".", "as")
        if word == "limit" and not is_name and after and (after[0][0] in "0123456789{("):
            yield after


def _combines_selects(outer: list[str]) -> bool:
    return any(
        word in SET_OPERATORS and after in ("all", "distinct", "select", "with", "(")
        for word, after in pairwise([*outer[1:], ""])
        if not (word == "except" and after == "(")  # SELECT * EXCEPT (column)
    )


def _is_limit_by(after: list[str]) -> bool:
    """Whether it is LIMIT 1 BY person_id, or LIMIT 1, 2 BY …."""
    return after[1:2] == ["by"] or after[1:2] + after[3:4] == [",", "by"]


def _number(after: list[str]) -> int | None:
    """The number of rows; LIMIT 20, 10 has it second."""
    text = after[2] if after[1:2] == [","] and len(after) > 2 else after[0]  # noqa: PLR2004
    if not re.fullmatch(r"[0-9]{1,18}(e[0-9])?", text):
        return None
    return min(int(float(text)), MOST_ROWS)
