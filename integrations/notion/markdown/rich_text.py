"""How does text with marks look in Markdown, and how does Notion want Markdown's marks?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from integrations.json_object import Json
from integrations.notion.ids import address

MAX_TEXT = 2000
MAX_ITEMS = 100
MAX_NESTED = 5
MOST_MARKS = 1000
"""In one paragraph. Notion takes a hundred pieces of text: far more marks than that could not be sent."""
_MARKED = re.compile(  # whatever stands between two marks is bounded: a mark that never ends is looked for only so far
    r"(?P<code>`{1,3})(?P<coded>[^`].{0,500}?)(?P=code)(?!`)"
    r"|\[(?P<label>[^\]\n]{1,500})\]\((?P<url>(?:https?://|mailto:)[^\s()]{0,1900}(?:\([^\s()]{0,99}\)[^\s()]{0,99})?)\)"
    r"|(?P<bold>\*\*|__)(?=\S)(?P<bolded>.{1,500}?)(?<=\S)(?P=bold)"
    r"|~~(?=\S)(?P<struck>.{1,500}?)(?<=\S)~~"
    r"|(?<![\w*])(?P<italic>[*_])(?=[^\s*_])(?P<slanted>.{1,500}?)(?<=[^\s*_])(?P=italic)(?![\w*])",
    re.DOTALL,
)


def plain(items: Iterable[Json] | None) -> str:
    return "".join(str(each.get("plain_text") or "") for each in items or ())


def marked(items: Iterable[Json] | None) -> str:
    """As Markdown."""
    return "".join(_marked(each) for each in items or ())


def _marked(item: Json) -> str:
    text = str(item.get("plain_text") or "")
    if item.get("type") == "equation":
        return f"${item['equation'].get('expression', text)}$"
    core = text.strip()
    if not core:
        return text
    before, _, after = text.partition(core)
    marks = item.get("annotations") or {}
    if marks.get("code"):
        core = f"`{core}`"
    for name, mark in (("italic", "*"), ("bold", "**"), ("strikethrough", "~~")):
        if marks.get(name):
            core = f"{mark}{core}{mark}"
    url = _target(item)
    return f"{before}[{core}]({url}){after}" if url else f"{before}{core}{after}"


def _target(item: Json) -> str:
    match item.get("mention"):
        case {"type": "page", "page": {"id": str(of)}} | {"type": "database", "database": {"id": str(of)}}:
            return address(of)
        case _:
            return str(item.get("href") or "")


def written(markdown: str) -> list[Json]:
    """Of one paragraph. What has more marks than Notion takes loses them."""
    if sum(map(markdown.count, "*_[`~")) > MOST_MARKS:
        return unmarked(markdown)
    items = list(_items(markdown, {}, None))
    return items if len(items) <= MAX_ITEMS else unmarked(markdown)


def unmarked(text: str) -> list[Json]:
    """Text as it stands, in pieces that Notion takes."""
    return [_item(piece, {}, None) for piece in _pieces(text)]


def _items(text: str, marks: Json, url: str | None, depth: int = 0) -> Iterator[Json]:
    at = 0
    for found in _MARKED.finditer(text) if depth < MAX_NESTED else ():
        yield from (_item(piece, marks, url) for piece in _pieces(text[at : found.start()]))
        yield from _inside(found, marks, url, depth + 1)
        at = found.end()
    yield from (_item(piece, marks, url) for piece in _pieces(text[at:]))


def _inside(found: re.Match[str], marks: Json, url: str | None, depth: int) -> Iterator[Json]:
    parts = found.groupdict()
    if parts["coded"] is not None:
        return (_item(piece, {**marks, "code": True}, url) for piece in _pieces(parts["coded"]))
    if parts["label"] is not None:
        return _items(parts["label"], marks, parts["url"], depth)
    if parts["bolded"] is not None:
        return _items(parts["bolded"], {**marks, "bold": True}, url, depth)
    if parts["struck"] is not None:
        return _items(parts["struck"], {**marks, "strikethrough": True}, url, depth)
    return _items(parts["slanted"], {**marks, "italic": True}, url, depth)


def _item(content: str, marks: Json, url: str | None) -> Json:
    text: Json = {"content": content} | ({"link": {"url": url}} if url else {})
    return {"type": "text", "text": text} | ({"annotations": marks} if marks else {})


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + MAX_TEXT] for at in range(0, len(text), MAX_TEXT))
