"""Conversion of Notion's blocks to Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from integrations.json_object import Json
from integrations.notion.markdown.rich_text import plain_text, to_markdown
from integrations.notion.parsing import address

_TICKS = re.compile(r"`{3,}")
_LISTS = ("bulleted_list_item", "numbered_list_item", "to_do")
_SILENT = ("table_of_contents", "breadcrumb", "column_list", "column", "synced_block", "tab", "template")
_MARKERS: Mapping[str, str] = {
    **dict.fromkeys(("paragraph", "toggle", "quote"), ""),
    **{f"heading_{level}": "#" * level + " " for level in range(1, 5)},
    "bulleted_list_item": "- ",
}


@dataclass(frozen=True)
class BlockNode:
    """A block with its children."""

    block: Json
    children: Sequence[BlockNode] = field(default=())
    note: str = ""
    """A note on children that are missing here."""
    is_cut: bool = False
    """Whether a limit cut off children, which the next response may include."""

    @property
    def starts_at(self) -> int:
        """The number of the list item, if a list begins with it."""
        number = self.inside.get("list_start_index")
        return number if isinstance(number, int) else 1

    @property
    def is_complete(self) -> bool:
        return not self.is_cut and all(child.is_complete for child in self.children)

    @property
    def kind(self) -> str:
        return str(self.block.get("type"))

    @property
    def inside(self) -> Json:
        content = self.block.get(self.kind)
        return content if isinstance(content, dict) else {}


def render(nodes: Sequence[BlockNode], *, with_ids: bool = False) -> str:
    """`with_ids`: a line with its id precedes each top-level block."""
    text, previous_kind, number = "", None, 0
    for node in nodes:
        number = number + 1 if node.kind == previous_kind == "numbered_list_item" else node.starts_at
        block_text = _with_children(node, number)
        if with_ids:
            block_text = f"<!-- block {node.block.get('id')} -->\n{block_text}"
        if not block_text:
            continue
        close = not with_ids and node.kind in _LISTS and previous_kind in _LISTS
        text += ("\n" if close else "\n\n") * bool(text) + block_text
        previous_kind = node.kind
    return text


def _with_children(node: BlockNode, number: int) -> str:
    own = _block_text(node, number)
    inner = render(node.children) if node.kind != "table" else ""
    inner = "\n\n".join(filter(None, (inner, node.note)))
    match node.kind:
        case "bulleted_list_item" | "to_do":
            return _with_inner(own, inner, "  ", "\n")
        case "numbered_list_item":
            return _with_inner(own, inner, " " * (len(str(number)) + 2), "\n")
        case "toggle":
            return f"<details>\n<summary>{own}</summary>\n\n{inner}\n\n</details>" if inner else f"▸ {own}"
        case "quote" | "callout":
            return _prefix_lines("\n\n".join(filter(None, (own, inner))), "> ")
        case "paragraph":
            return _with_inner(own, inner, "  ", "\n\n")
        case _:
            return "\n\n".join(filter(None, (own, inner)))


def _block_text(node: BlockNode, number: int) -> str:
    """The text of the block itself, without its children."""
    text = to_markdown(node.inside.get("rich_text"))
    match node.kind:
        case "numbered_list_item":
            return _item(f"{number}. ", text)
        case "to_do":
            return _item("- [x] " if node.inside.get("checked") else "- [ ] ", text)
        case "callout":
            return " ".join(filter(None, (str((node.inside.get("icon") or {}).get("emoji") or ""), text)))
        case kind if kind in _MARKERS:
            return _item(_MARKERS[kind], text)
        case kind if kind in _SILENT:
            return ""
        case kind:
            return _RENDERERS.get(kind, _unknown)(node)


def _unknown(node: BlockNode) -> str:
    return f"[A block that the API does not show ({node.kind}): see {block_address(node.block)}]"


def block_address(block: Json) -> str:
    """The URL of the block, on its page if that is known."""
    block_id, page = str(block.get("id", "")), (block.get("parent") or {}).get("page_id")
    return f"{address(page)}#{block_id.replace('-', '')}" if isinstance(page, str) else address(block_id)


def _child(node: BlockNode) -> str:
    word = "Page" if node.kind == "child_page" else "Database"
    return f"[{word}: {node.inside.get('title')}]({address(str(node.block.get('id', '')))})"


def _linked_page(node: BlockNode) -> str:
    return f"[Linked page]({address(str(node.inside.get(str(node.inside.get('type'))) or ''))})"


def _link(node: BlockNode) -> str:
    url = str(node.inside.get("url") or "")
    return f"[{plain_text(node.inside.get('caption')) or url}]({url})"


def _meeting_notes(node: BlockNode) -> str:
    return f"**Meeting notes: {plain_text(node.inside.get('title'))}**"


def _equation(node: BlockNode) -> str:
    return f"$$\n{node.inside.get('expression', '')}\n$$"


def _rule(_: BlockNode) -> str:
    return "---"


def _table(node: BlockNode) -> str:
    return "\n".join(_rows(node))


def _file(node: BlockNode) -> str:
    inside = node.inside
    where = inside.get(str(inside.get("type"))) or {}
    name = plain_text(inside.get("caption")) or str(inside.get("name") or node.kind)
    return f"{'!' if node.kind == 'image' else ''}[{name}]({where.get('url', '')})"


def _code(node: BlockNode) -> str:
    inside = node.inside
    text = plain_text(inside.get("rich_text"))
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(text))])
    language = inside.get("language")
    caption = plain_text(inside.get("caption"))
    code = f"{fence}{'' if language in (None, 'plain text') else language}\n{text}\n{fence}"
    return f"{code}\n{caption}" if caption else code


def _rows(table: BlockNode) -> Iterator[str]:
    rows = [[_cell(cell) for cell in row.inside.get("cells", [])] for row in table.children]
    if not rows:
        yield from filter(None, (table.note,))
        return
    if not table.inside.get("has_column_header"):
        rows.insert(0, [""] * len(rows[0]))
    for index, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if index == 0:
            yield f"|{' --- |' * len(row)}"


def _cell(items: list[Json]) -> str:
    return to_markdown(items).replace("|", "\\|").replace("\n", " ")


def _item(marker: str, text: str) -> str:
    """A text with its marker; further lines of a list item are indented, a heading has only one line."""
    if marker.startswith("#"):
        return marker + text.replace("\n", " ")
    return marker + text.replace("\n", "\n" + " " * min(len(marker), 3))


def _with_inner(own: str, inner: str, indent: str, separator: str) -> str:
    return own + separator * bool(own) + _prefix_lines(inner, indent) if inner else own


def _prefix_lines(text: str, prefix: str) -> str:
    return "\n".join(f"{prefix}{line}".rstrip() for line in text.split("\n"))


_RENDERERS: Mapping[str, Callable[[BlockNode], str]] = {
    **dict.fromkeys(("image", "video", "file", "pdf", "audio"), _file),
    **dict.fromkeys(("bookmark", "embed", "link_preview"), _link),
    **dict.fromkeys(("meeting_notes", "transcription"), _meeting_notes),
    **dict.fromkeys(("child_page", "child_database"), _child),
    "link_to_page": _linked_page,
    "code": _code,
    "equation": _equation,
    "divider": _rule,
    "table": _table,
}
