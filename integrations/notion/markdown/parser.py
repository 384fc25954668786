"""The markdown-it-py parser, configured for the Markdown that Notion can hold and for untrusted texts.

In addition to CommonMark there are tables, tasks, strikethrough and equations. Raw HTML, indented code, underlined
headings and link references stay text: Notion has no HTML, pages are read with indented paragraphs, models write `---`
below a line as a divider, and a reference of three characters can stand for an address of two thousand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

MAX_LEVEL = 18
"""The parser skips what is nested deeper than `maxNesting`, 20. A list is two levels, so this one is before that."""
INTERRUPTED_RULES = ["paragraph", "reference", "blockquote"]
DISABLED_RULES = ["code", "html_block", "html_inline", "lheading", "reference"]
_LINK = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x1f]{1,1990}")
_DASHES = re.compile(r":?-+:?")
_PIPE = re.compile(r"(?<!\\)\|")
_BLOCK_NAME = re.compile(r"<!-- block [0-9a-f-]{36} -->")


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        """Notion refuses a whole request for any other link."""
        return bool(_LINK.fullmatch(url))

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        """The URL is kept unchanged."""
        return url


def parse_blocks(markdown: str) -> Sequence[SyntaxTreeNode]:
    """The block nodes of a text, whose inline content is not parsed yet."""
    return SyntaxTreeNode(_PARSER.parse(markdown)).children


def parse_inline(markdown: str) -> list[Token]:
    return _PARSER.inline.parse(markdown, _PARSER, {}, [])


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def _is_inside(state: StateBlock, line: int, end: int) -> bool:
    """Whether a line belongs to the block around it."""
    return line < end and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent)


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    return state.level >= MAX_LEVEL and _paragraph(state, start, end, silent)


def _paragraph(state: StateBlock, start: int, _end: int, silent: bool) -> bool:  # noqa: ARG001
    """A paragraph rule that, unlike CommonMark's, ends before every list item, even an indented one."""
    interrupting = state.md.block.ruler.getRules("paragraph")
    parent_type, state.parentType = state.parentType, "paragraph"
    line = start + 1
    while line < state.lineMax and not state.isEmpty(line):
        is_lazy = state.sCount[line] < 0  # a line of a quote without its `>`, at which the quote's rule has looked
        if not is_lazy and any(rule(state, line, state.lineMax, True) for rule in interrupting):
            if state.level >= MAX_LEVEL:  # the content of this block follows after it
                state.sCount[line] = min(state.sCount[line], state.blkIndent - 1)
            break
        line += 1
    state.line, state.parentType = line, parent_type
    token = state.push("paragraph", "", 0)
    token.content = f"{_line(state, start)}\n{state.getLines(start + 1, line, state.blkIndent, False)}".strip()
    return True


def _block_name(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    """The comment that names a block in the text of a page."""
    if not _BLOCK_NAME.fullmatch(_line(state, start)):
        return False
    if not silent:
        state.line = start + 1
    return True


def _equation(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if _line(state, start) != "$$":
        return False
    if silent:
        return True
    line = start + 1
    while _is_inside(state, line, end) and _line(state, line) != "$$":
        line += 1
    token = state.push("equation", "", 0)
    token.content = state.getLines(start + 1, line, state.blkIndent, False)
    state.line = line + 1 if _is_inside(state, line, end) else line
    return True


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table rule that keeps cells beyond the header's and adds no missing ones, which could take a second."""
    if not _is_inside(state, start + 1, end) or not _begins_table(_line(state, start), _line(state, start + 1)):
        return False
    if silent:
        return True
    line = start + 2
    while _is_inside(state, line, end) and "|" in _line(state, line):
        line += 1
    rows = [start, *range(start + 2, line)]
    state.push("table", "", 0).meta = {"rows": [_cells(_line(state, row)) for row in rows]}
    state.line = line
    return True


def _begins_table(header: str, below: str) -> bool:
    return "|" in header and "|" in below and all(_DASHES.fullmatch(cell) for cell in _cells(below))


def _cells(line: str) -> list[str]:
    inside = line.removeprefix("|")
    cells = _PIPE.split(inside[:-1] if inside.endswith("|") and not inside.endswith("\\|") else inside)
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _create_parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False, "tasklists": True, "maxNesting": 20})
    parser.enable("strikethrough").disable(DISABLED_RULES)
    parser.core.ruler.enableOnly(["normalize", "block"])
    rules = parser.block.ruler
    rules.at("table", _table, {"alt": ["paragraph", "reference"]})
    rules.enable("table")
    rules.before("table", "too_deep", _too_deep)
    rules.before("fence", "equation", _equation, {"alt": INTERRUPTED_RULES})
    rules.before("fence", "block_name", _block_name, {"alt": INTERRUPTED_RULES})
    rules.at("paragraph", _paragraph)
    return parser


_PARSER = _create_parser()
