"""Conversion of rich text to Markdown, and of Markdown and plain text to rich text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from markdown_it.token import Token

from integrations.json_object import Json
from integrations.notion.markdown.parser import parse_inline
from integrations.notion.parsing import address

MAX_TEXT = 2000
MAX_ITEMS = 100
MAX_MARKS = 1000
"""The maximum in one paragraph. Notion accepts 100 pieces, so a paragraph with more marks is not parsed."""
_FORMATTED = re.compile(r"[*_`~\[\]<&\\\n]")
_BREAKS = ("softbreak", "hardbreak")
_ANNOTATIONS = {"strong": "bold", "em": "italic", "s": "strikethrough"}

RichText = list[Json]


@dataclass(frozen=True)
class Image:
    """An image on a separate line."""

    url: str
    caption: str


@dataclass(frozen=True)
class _Run:
    """A text with the same formatting throughout."""

    text: str
    annotations: frozenset[str] = frozenset()
    url: str | None = None

    @property
    def formatting(self) -> tuple[frozenset[str], str | None]:
        return self.annotations, self.url


def plain_text(items: Iterable[Json] | None) -> str:
    return "".join(str(item.get("plain_text") or "") for item in items or ())


def to_markdown(items: Iterable[Json] | None) -> str:
    """The Markdown of rich text."""
    return "".join(_item_markdown(item) for item in items or ())


def _item_markdown(item: Json) -> str:
    text = str(item.get("plain_text") or "")
    if item.get("type") == "equation":
        return f"${item['equation'].get('expression', text)}$"
    core = text.strip()
    if not core:
        return text
    before, _, after = text.partition(core)
    annotations = item.get("annotations") or {}
    if annotations.get("code"):
        core = f"`{core}`"
    for name, mark in (("italic", "*"), ("bold", "**"), ("strikethrough", "~~")):
        if annotations.get(name):
            core = f"{mark}{core}{mark}"
    url = _target(item)
    return f"{before}[{core}]({url}){after}" if url else f"{before}{core}{after}"


def _target(item: Json) -> str:
    match item.get("mention"):
        case {"type": "page", "page": {"id": str(object_id)}} | {
            "type": "database",
            "database": {"id": str(object_id)},
        }:
            return address(object_id)
        case _:
            return str(item.get("href") or "")


def from_markdown(markdown: str) -> RichText:
    """The rich text of one paragraph; unformatted if it has more pieces than Notion accepts."""
    items = _items(_parse_runs(_tokens(markdown)))
    return items if items and len(items) <= MAX_ITEMS else plain_rich_text(markdown)


def parts_from_markdown(markdown: str) -> list[RichText | Image]:
    """The rich text of one paragraph, divided at lines that consist only of an image."""
    parts = list(_parts(_tokens(markdown)))
    has_too_many = any(len(part) > MAX_ITEMS for part in parts if isinstance(part, list))
    return [plain_rich_text(markdown)] if has_too_many or not parts else parts


def plain_rich_text(text: str) -> RichText:
    """The text without formatting, in pieces of the length that Notion accepts."""
    return _items([_Run(text)])


def _tokens(markdown: str) -> list[Token]:
    if not _FORMATTED.search(markdown) or sum(map(markdown.count, "*_[`~")) > MAX_MARKS:
        return [Token("text", "", 0, content=markdown)]
    return parse_inline(markdown)


def _parts(tokens: Sequence[Token]) -> Iterator[RichText | Image]:
    text: list[Token] = []
    for is_break, group in groupby(tokens, key=lambda token: token.type in _BREAKS and not token.level):
        line = list(group)
        image = None if is_break else _image_alone(line)
        if image is None:
            text += line
            continue
        if items := _items(_parse_runs(_without_breaks(text))):
            yield items
        yield image
        text = []
    if items := _items(_parse_runs(_without_breaks(text))):
        yield items


def _without_breaks(tokens: list[Token]) -> list[Token]:
    """Remove breaks at both ends, where an image divides the paragraph."""
    while tokens and tokens[0].type in _BREAKS:
        tokens = tokens[1:]
    while tokens and tokens[-1].type in _BREAKS:
        tokens = tokens[:-1]
    return tokens


def _image_alone(line: Sequence[Token]) -> Image | None:
    tokens = [token for token in line if token.type != "text" or token.content.strip()]
    url = str(tokens[0].attrs.get("src", "")) if len(tokens) == 1 and tokens[0].type == "image" else ""
    return Image(url, tokens[0].content) if url.startswith("http") else None


def _parse_runs(tokens: Sequence[Token]) -> Iterator[_Run]:
    open_marks: list[str] = []
    url, is_empty = None, True
    for token in tokens:
        name, _, end = token.type.rpartition("_")
        if name == "link":
            if end == "close" and is_empty and url:
                yield _Run(url, frozenset(open_marks), url)
            url, is_empty = (str(token.attrs["href"]), True) if end == "open" else (None, False)
        elif name in _ANNOTATIONS and end == "open":
            open_marks.append(_ANNOTATIONS[name])
        elif name in _ANNOTATIONS:
            open_marks.remove(_ANNOTATIONS[name])
        elif run := _run(token):
            is_empty = False
            yield replace(run, annotations=run.annotations.union(open_marks), url=url or run.url)


def _run(token: Token) -> _Run | None:
    """The text run of a token; None for a token without text."""
    match token.type:
        case "softbreak" | "hardbreak":
            return _Run("\n")
        case "code_inline":
            return _Run(token.content, frozenset({"code"}))
        case "image":
            url = str(token.attrs["src"])
            return _Run(token.content or url, url=url)
        case _:
            return _Run(token.content) if token.content else None


def _items(runs: Iterable[_Run]) -> RichText:
    return [
        _item(piece, annotations, url)
        for (annotations, url), group in groupby(runs, key=lambda run: run.formatting)
        for piece in _pieces("".join(run.text for run in group))
    ]


def _item(content: str, annotations: frozenset[str], url: str | None) -> Json:
    text: Json = {"content": content} | ({"link": {"url": url}} if url else {})
    marks: dict[str, Any] = dict.fromkeys(sorted(annotations), True)
    return {"type": "text", "text": text} | ({"annotations": marks} if marks else {})


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + MAX_TEXT] for start in range(0, len(text), MAX_TEXT))
