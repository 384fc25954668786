"""Which blocks does Notion want for a text in Markdown?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from integrations.json_object import Json
from integrations.notion.markdown.languages import language
from integrations.notion.markdown.rich_text import unmarked, written
from integrations.service_client import ToolFailed

MAX_BLOCKS = 100
MAX_ELEMENTS = 900
MAX_BYTES = 400_000
MAX_DEPTH = 2
"""Levels of children in one request."""
MAX_LOOK = 8
MAX_ROWS = 100
FLATTENED = "Lists were deeper than three levels, which is as deep as they are written: the rest stands at the third."
_FENCE = re.compile(r"(`{3,}|~{3,})([^`]*)$")
_HEADING = re.compile(r"(#{1,6})\s(.*)$")
_RULE = re.compile(r"([-*_])(?:\s*\1){2,}$")
_ITEM = re.compile(r"(\s*)(?:([-*+])|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$")
_DASHES = re.compile(r":?-+:?")
_PIPE = re.compile(r"(?<!\\)\|")
_IMAGE = re.compile(r"!\[([^\]]*)\]\((https?://[^\s)]+)\)$")
_COMMENT = re.compile(r"<!-- block [0-9a-f-]{36} -->$")
# All but `_ITEM` are for a line without the spaces around it: no pattern may try many ways through a long line.


@dataclass(frozen=True)
class Draft:
    blocks: list[Json]
    notes: list[str] = field(default_factory=list)
    """What could not be written as it was."""


def drafted(markdown: str) -> Draft:
    lines = _Lines(markdown.replace("\r\n", "\n").split("\n"))
    blocks = list(lines.blocks())
    return Draft(blocks, [FLATTENED] if lines.is_flattened else [])


def all_drafted(parts: Sequence[str | Json]) -> Draft:
    """Of texts, and of blocks as Notion has them."""
    drafts = [drafted(each) if isinstance(each, str) else Draft([each]) for each in parts]
    notes = dict.fromkeys(note for each in drafts for note in each.notes)
    return Draft([block for each in drafts for block in each.blocks], list(notes))


def as_blocks(markdown: str) -> list[Json]:
    return drafted(markdown).blocks


def block(kind: str, **inside: Any) -> Json:
    return {"object": "block", "type": kind, kind: inside}


def of_text(kind: str, text: str, **more: Any) -> Json:
    return block(kind, rich_text=written(text), **more)


def batches(blocks: Sequence[Json]) -> Iterator[list[Json]]:
    """As many at a time as Notion takes in one request."""
    batch, elements, size = list[Json](), 0, 0
    for each in blocks:
        weight, length = _elements(each), len(json.dumps(each))
        is_full = len(batch) == MAX_BLOCKS or elements + weight > MAX_ELEMENTS or size + length > MAX_BYTES
        if batch and is_full:
            yield batch
            batch, elements, size = [], 0, 0
        batch.append(each)
        elements, size = elements + weight, size + length
    if batch:
        yield batch


def _elements(of: Json, depth: int = 0) -> int:
    """Notion takes nothing that is much deeper."""
    inside = of.get(str(of.get("type")))
    children = inside.get("children") if isinstance(inside, dict) and depth < MAX_LOOK else None
    return 1 + sum(_elements(each, depth + 1) for each in children or () if isinstance(each, dict))


@dataclass
class _Item:
    indent: int
    block: Json
    children: list[_Item] = field(default_factory=list)

    def made(self) -> Json:
        if not self.children:
            return self.block
        if len(self.children) > MAX_BLOCKS:
            raise ToolFailed("invalid_arguments", f"Below one item of a list there can be {MAX_BLOCKS} others at most.")
        kind = self.block["type"]
        return {**self.block, kind: {**self.block[kind], "children": [each.made() for each in self.children]}}


class _Lines:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self.is_flattened = False
        """A list was deeper than goes into one request."""

    def blocks(self) -> Iterator[Json]:
        while self._at < len(self._lines):
            line = self._lines[self._at].strip()
            if not line or _COMMENT.match(line):
                self._at += 1
            elif fence := _FENCE.match(line):
                yield self._code(fence)
            elif line == "$$":
                yield self._equation()
            elif self._begins_table():
                yield from self._table()
            elif line.startswith(">"):
                yield self._quote()
            elif _as_item(self._lines[self._at]):
                yield from self._list()
            else:
                yield self._single(line) or self._paragraph()

    def _single(self, line: str) -> Json | None:
        """A block of one line."""
        made: Json | None = None
        if heading := _HEADING.match(line):
            made = of_text(f"heading_{min(len(heading[1]), 3)}", _without_end(heading[2]))
        elif _RULE.match(line):
            made = block("divider")
        elif image := _IMAGE.match(line):
            caption = {"caption": unmarked(image[1])} if image[1] else {}
            made = block("image", type="external", external={"url": image[2]}, **caption)
        if made:
            self._at += 1
        return made

    def _taken(self, until: str) -> str:
        """All lines up to one that is `until`, which is passed over."""
        start = self._at = self._at + 1
        while self._at < len(self._lines) and self._lines[self._at].strip() != until:
            self._at += 1
        self._at += 1
        return "\n".join(self._lines[start : self._at - 1])

    def _code(self, fence: re.Match[str]) -> Json:
        return block("code", rich_text=unmarked(self._taken(fence[1])), language=language(fence[2]))

    def _equation(self) -> Json:
        return block("equation", expression=self._taken("$$"))

    def _quote(self) -> Json:
        lines = []
        while self._at < len(self._lines) and self._lines[self._at].lstrip().startswith(">"):
            lines.append(self._lines[self._at].lstrip()[1:].removeprefix(" "))
            self._at += 1
        return of_text("quote", "\n".join(lines))

    def _begins_table(self) -> bool:
        lines = self._lines[self._at : self._at + 2]
        if len(lines) < 2 or not all("|" in line for line in lines):  # noqa: PLR2004  the header, and what is below it
            return False
        return all(_DASHES.fullmatch(cell) for cell in _cells(lines[1]))

    def _table(self) -> Iterator[Json]:
        """Several where it is longer than Notion takes, each with the header."""
        header = _cells(self._lines[self._at])
        self._at += 2
        rows = []
        while self._at < len(self._lines) and "|" in self._lines[self._at]:
            rows.append(_cells(self._lines[self._at]))
            self._at += 1
        for start in range(0, max(len(rows), 1), MAX_ROWS - 1):
            yield _table([header, *rows[start : start + MAX_ROWS - 1]])

    def _list(self) -> Iterator[Json]:
        top: list[_Item] = []
        path: list[_Item] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            found = _as_item(line)
            if not found and not self._is_of_list(line):
                break
            if not found:
                _go_on(path[-1], line.strip())
            else:
                path = [each for each in path if each.indent < len(found[1])]
                item = _Item(len(found[1]), _list_block(found))
                self.is_flattened |= len(path) > MAX_DEPTH
                (path[:MAX_DEPTH][-1].children if path else top).append(item)
                path.append(item)
            self._at += 1
        return (item.made() for item in top)

    def _is_of_list(self, line: str) -> bool:
        """What stands further in, and an empty line in front of what goes on."""
        if line.strip():
            return line.startswith(("  ", "\t"))
        after = self._lines[self._at + 1 : self._at + 2]
        return bool(after and after[0].strip() and (after[0].startswith(("  ", "\t")) or _as_item(after[0])))

    def _paragraph(self) -> Json:
        lines = [self._lines[self._at].strip()]
        self._at += 1
        while self._at < len(self._lines) and not self._begins_block(self._lines[self._at]):
            lines.append(self._lines[self._at].strip())
            self._at += 1
        return of_text("paragraph", "\n".join(lines))

    def _begins_block(self, line: str) -> bool:
        bare = line.strip()
        is_marked = bare in ("", "$$") or bare.startswith(">") or bool(_as_item(line))
        begins = (_FENCE, _HEADING, _RULE, _IMAGE, _COMMENT)
        return is_marked or any(each.match(bare) for each in begins) or self._begins_table()


def _as_item(line: str) -> re.Match[str] | None:
    return None if _RULE.match(line.strip()) else _ITEM.match(line.expandtabs(4))


def _without_end(heading: str) -> str:
    """`## Title ##` is closed."""
    text = heading.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if bare != text and (not bare or bare[-1].isspace()) else text


def _list_block(found: re.Match[str]) -> Json:
    if found[3] is not None:
        return of_text("to_do", found[4], checked=found[3] in "xX")
    return of_text("bulleted_list_item" if found[2] else "numbered_list_item", found[4])


def _go_on(item: _Item, text: str) -> None:
    """A line that belongs to the item before it."""
    if not text:
        return
    kind = item.block["type"]
    item.block[kind]["rich_text"] += written(f"\n{text}")


def _cells(line: str) -> list[str]:
    inside = line.strip().removeprefix("|")
    cells = _PIPE.split(inside[:-1] if inside.endswith("|") and not inside.endswith("\\|") else inside)
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _table(rows: list[list[str]]) -> Json:
    width = min(max(len(row) for row in rows), MAX_BLOCKS)
    fitted = [[*row, *[""] * width][:width] for row in rows]
    children = [block("table_row", cells=[written(cell) for cell in row]) for row in fitted]
    return block("table", table_width=width, has_column_header=True, has_row_header=False, children=children)
