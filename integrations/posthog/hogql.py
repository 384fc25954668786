"""What is a query in HogQL, as far as it has to be known: one that reads, and how many rows it asks for itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_ROWS = 50_000
"""PostHog gives no more, whatever is asked for."""
OPENING, CLOSING = "([{", ")]}"
SETS = frozenset({"union", "intersect", "except"})
NOT_A_READ = "a query is one SELECT (or WITH … SELECT): HogQL only reads"
NOT_ONE = "it is one query, without `;` between several: ask for the others one by one"
NOT_CLOSED = "a bracket, a quote or a comment in it is not closed"
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
    """The LIMIT that it has of its own; None where it has none that is a number."""

    has_limit: bool

    @classmethod
    def read(cls, text: str) -> Query:
        """`ValueError` says what has to be changed."""
        tokens = list(_tokens(text))
        while tokens and tokens[-1].text == ";":
            tokens.pop()
        outer = [each.text.lower() for each in tokens if not each.depth]
        if not outer or outer[0] not in ("select", "with", "("):
            raise ValueError(NOT_A_READ)
        if ";" in outer:
            raise ValueError(NOT_ONE)
        limits = [outer[at + 1 :] for at, word in enumerate(outer) if word == "limit"]
        own = [after for after in limits if not _limits_groups(after)]
        return cls(text[: tokens[-1].end], _number(own[-1]) if own else None, bool(own))

    def within(self, limit: int) -> str:
        """With a LIMIT in any case. The end of a comment is the end of its line."""
        if self.has_limit:
            return self.text
        if self._is_set:  # a LIMIT at its end would be one of its last part
            return "\n".join(["SELECT * FROM (", self.text, f") LIMIT {limit}"])
        return f"{self.text}\nLIMIT {limit}"

    @property
    def _is_set(self) -> bool:
        words = [each for each in _tokens(self.text) if not each.depth]
        following = [*(each.text.lower() for each in words[1:]), ""]
        return any(
            word.text.lower() in SETS and after in ("all", "distinct", "select", "with", "(")
            for word, after in zip(words, following, strict=True)
            if not (word.text.lower() == "except" and after == "(")  # SELECT * EXCEPT (column)
        )


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _tokens(text: str) -> Iterator[Token]:
    depth = 0
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "open":
            raise ValueError(NOT_CLOSED)
        if found.lastgroup == "gap":
            continue
        depth -= found[0] in CLOSING
        if depth < 0:
            raise ValueError(NOT_CLOSED)
        yield Token(found[0], depth, found.end())
        depth += found[0] in OPENING
    if depth:
        raise ValueError(NOT_CLOSED)


def _limits_groups(after: list[str]) -> bool:
    """LIMIT 1 BY person_id, or LIMIT 1, 2 BY …"""
    return after[1:2] == ["by"] or after[1:2] + after[3:4] == [",", "by"]


def _number(after: list[str]) -> int | None:
    """Of LIMIT 20, 10 it is the second."""
    text = after[2] if after[1:2] == [","] and len(after) > 2 else (after or [""])[0]  # noqa: PLR2004
    return min(int(text), MOST_ROWS) if text.isdecimal() else None
