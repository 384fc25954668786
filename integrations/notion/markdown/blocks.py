"""Conversion of Markdown to Notion's blocks, in batches that fit into one request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it.tree import SyntaxTreeNode

from integrations.json_object import Json
from integrations.notion.markdown.languages import language
from integrations.notion.markdown.parser import parse_blocks
from integrations.notion.markdown.rich_text import Image, from_markdown, parts_from_markdown, plain_rich_text
from integrations.service_client import ToolFailed

MAX_BLOCKS = 100
MAX_ELEMENTS = 900
MAX_BYTES = 400_000
MAX_DEPTH = 2
"""Levels of children in one request."""
MAX_LOOK = 8
MAX_ROWS = 100
MAX_CELLS = 100_000
FLATTENED = "Blocks deeper than three levels, the most that one request can create, were written at the third level."
TOO_MANY_BELOW = f"One list item or quote can contain at most {MAX_BLOCKS} blocks."
TOO_MANY_CELLS = f"A table has more than {MAX_CELLS:,} cells: send it in parts."


@dataclass(frozen=True)
class Draft:
    blocks: list[Json]
    notes: list[str] = field(default_factory=list)
    """Notes on what differs from the Markdown."""


def draft_from_markdown(markdown: str) -> Draft:
    writer = _Writer()
    blocks = writer.blocks(parse_blocks(markdown), depth=0)
    return Draft(blocks, [FLATTENED] if writer.is_flattened else [])


def draft_from_parts(parts: Sequence[str | Json]) -> Draft:
    """Blocks from Markdown texts and from Notion's own blocks."""
    drafts = [draft_from_markdown(part) if isinstance(part, str) else Draft([part]) for part in parts]
    notes = dict.fromkeys(note for draft in drafts for note in draft.notes)
    return Draft([block for draft in drafts for block in draft.blocks], list(notes))


def to_blocks(markdown: str) -> list[Json]:
    return draft_from_markdown(markdown).blocks


def batches(blocks: Sequence[Json]) -> Iterator[list[Json]]:
    """Batches with as many blocks as Notion accepts in one request."""
    batch, elements, size = list[Json](), 0, 0
    for block in blocks:
        weight, length = _elements(block), len(json.dumps(block))
        is_full = len(batch) == MAX_BLOCKS or elements + weight > MAX_ELEMENTS or size + length > MAX_BYTES
        if batch and is_full:
            yield batch
            batch, elements, size = [], 0, 0
        batch.append(block)
        elements, size = elements + weight, size + length
    if batch:
        yield batch


def _elements(block: Json, depth: int = 0) -> int:
    """The number of blocks in a block. Notion rejects what is deeper than `MAX_LOOK`."""
    inside = block.get(str(block.get("type")))
    children = inside.get("children") if isinstance(inside, dict) and depth < MAX_LOOK else None
    return 1 + sum(_elements(child, depth + 1) for child in children or () if isinstance(child, dict))


class _Writer:
    def __init__(self) -> None:
        self.is_flattened = False
        """Whether blocks were deeper than one request allows."""

    def blocks(self, nodes: Sequence[SyntaxTreeNode], depth: int) -> list[Json]:
        return [block for node in nodes for block in self._node_blocks(node, depth)]

    def _node_blocks(self, node: SyntaxTreeNode, depth: int) -> Iterator[Json]:
        match node.type:
            case "bullet_list":
                yield from self._items("bulleted_list_item", node, depth)
            case "ordered_list":
                yield from self._items("numbered_list_item", node, depth)
            case "blockquote":
                yield from self._with_children("quote", node.children, depth, separator="\n\n")
            case "table" if depth == MAX_DEPTH:  # its rows would be too deep
                self.is_flattened = True
                rows = "\n".join(" | ".join(row) for row in node.meta["rows"])
                yield _block("code", rich_text=plain_rich_text(rows), language=language(""))
            case _:
                yield from _leaf_blocks(node)

    def _items(self, kind: str, node: SyntaxTreeNode, depth: int) -> Iterator[Json]:
        for item in node.children:
            if "checked" in item.meta:
                yield from self._with_children("to_do", item.children, depth, checked=item.meta["checked"])
            else:
                yield from self._with_children(kind, item.children, depth)

    def _with_children(
        self, kind: str, nodes: Sequence[SyntaxTreeNode], depth: int, *, separator: str = "\n", **fields: Any
    ) -> Iterator[Json]:
        """The leading paragraphs are its own text; the rest are its children, or its siblings if they were too deep."""
        text_count = next((index for index, node in enumerate(nodes) if node.type != "paragraph"), len(nodes))
        parts = parts_from_markdown(separator.join(node.content for node in nodes[:text_count])) if text_count else []
        text = parts.pop(0) if parts and not isinstance(parts[0], Image) else []
        is_deep = depth == MAX_DEPTH
        children = [_part_block(part) for part in parts] + self.blocks(
            nodes[text_count:], depth if is_deep else depth + 1
        )
        self.is_flattened |= is_deep and bool(children)
        if is_deep:
            yield _block(kind, rich_text=text, **fields)
            yield from children
        elif len(children) > MAX_BLOCKS:
            raise ToolFailed("invalid_arguments", TOO_MANY_BELOW)
        else:
            yield _block(kind, rich_text=text, **fields, **({"children": children} if children else {}))


def _leaf_blocks(node: SyntaxTreeNode) -> Iterator[Json]:
    match node.type:
        case "paragraph":
            yield from map(_part_block, parts_from_markdown(node.content))
        case "heading":
            yield _block(f"heading_{min(len(node.markup), 3)}", rich_text=from_markdown(node.children[0].content))
        case "fence":
            text = node.content.removesuffix("\n")
            yield _block("code", rich_text=plain_rich_text(text), language=language(node.info))
        case "equation":
            yield _block("equation", expression=node.content)
        case "hr":
            yield _block("divider")
        case "table":
            yield from _tables(node.meta["rows"])


def _part_block(part: list[Json] | Image) -> Json:
    if not isinstance(part, Image):
        return _block("paragraph", rich_text=part)
    caption = {"caption": plain_rich_text(part.caption)} if part.caption else {}
    return _block("image", type="external", external={"url": part.url}, **caption)


def _tables(rows: list[list[str]]) -> Iterator[Json]:
    """One table, or several with the same header if there are more rows than Notion accepts in one."""
    width = min(max(map(len, rows)), MAX_BLOCKS)
    if width * len(rows) > MAX_CELLS:
        raise ToolFailed("invalid_arguments", TOO_MANY_CELLS)
    header, *others = [_row(row, width) for row in rows]
    for start in range(0, max(len(others), 1), MAX_ROWS - 1):
        children = [header, *others[start : start + MAX_ROWS - 1]]
        yield _block("table", table_width=width, has_column_header=True, has_row_header=False, children=children)


def _row(cells: list[str], width: int) -> Json:
    filled = [from_markdown(cell) for cell in cells[:width]]
    return _block("table_row", cells=[*filled, *[[]] * (width - len(filled))])


def _block(kind: str, **inside: Any) -> Json:
    return {"object": "block", "type": kind, kind: inside}
