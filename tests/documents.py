"""The documents that users read, taken apart: blocks, sections, tables, links and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PROJECT = Path(__file__).parents[1]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True)
class Document:
    path: str

    @cached_property
    def text(self) -> str:
        return (PROJECT / self.path).read_text(encoding="utf-8")

    @property
    def folder(self) -> Path:
        return (PROJECT / self.path).parent

    @property
    def blocks(self) -> list[tuple[str, str]]:
        """Each with its language."""
        return _BLOCK.findall(self.text)

    @property
    def prose(self) -> str:
        return _BLOCK.sub("", self.text)

    def blocks_in(self, language: str) -> list[str]:
        return [block for name, block in self.blocks if name == language]

    def block(self, language: str, sign: str) -> str:
        """The only block in this language that holds the sign."""
        (block,) = [block for block in self.blocks_in(language) if sign in block]
        return block

    @property
    def headings(self) -> list[str]:
        return re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)

    @property
    def anchors(self) -> set[str]:
        """As GitHub makes them."""
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in self.headings}

    @property
    def links(self) -> list[str]:
        return _LINK.findall(self.prose)

    def section(self, title: str) -> str:
        _, result, rest = f"\n{self.text}".partition(f"\n## {title}\n")
        assert result, f"{self.path} has no section {title!r}"
        return rest.partition("\n## ")[0]

    @property
    def introduction(self) -> str:
        """What stands before the first section."""
        return self.text.partition("\n## ")[0]

    def table(self, title: str, head: str = "") -> list[list[str]]:
        """The rows of the section's table whose head begins so, without head and rule. No title: the introduction."""
        tables = re.findall(r"(?:^\|.*\|$\n?)+", self.section(title) if title else self.introduction, re.MULTILINE)
        (table,) = [table for table in tables if table.startswith(f"| {head}")]
        return [_cells(line) for line in table.splitlines()[2:]]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def code_in(text: str) -> list[str]:
    """What stands between backticks, outside of blocks."""
    return re.findall(r"`([^`]+)`", _BLOCK.sub("", text))


def numbers_in(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(text)]


README = Document("README.md")
CONTRIBUTING = Document("CONTRIBUTING.md")
INDEX = Document("docs/README.md")


def guide(name: str) -> Document:
    return Document(f"docs/{name}.md")


def guides() -> Sequence[Document]:
    files = sorted((PROJECT / "docs").glob("*.md"))
    return [Document(str(file.relative_to(PROJECT))) for file in files]


def decisions() -> Sequence[Document]:
    files = sorted((PROJECT / "docs/decisions").glob("*.md"))
    return [Document(str(file.relative_to(PROJECT))) for file in files]


def documents() -> Sequence[Document]:
    """All that are written for users and developers, but the decisions."""
    roots = [Document(name) for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    services = [Document(str(file.relative_to(PROJECT))) for file in sorted(PROJECT.glob("integrations/*/README.md"))]
    return [*roots, *guides(), *services]
