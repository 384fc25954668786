"""Slack's markup and blocks as plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from integrations.json_object import Json
from integrations.text import objects

_TOKEN = re.compile(r"<([^<>]*)>")
_USER = re.compile(r"<@([UW][A-Z0-9]+)")
_MAX_DEPTH = 8
NameOfUser = Callable[[str], str | None]


def plain(text: str, names: NameOfUser) -> str:
    """Write links and mentions as plain text; `names` returns a user's name by ID."""
    unmarked = _TOKEN.sub(lambda match: _token_text(match[1], names), text)
    return unmarked.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def escape(text: str) -> str:
    """Escape a text so that Slack reads no mention or link in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mentioned_users(text: str) -> list[str]:
    return _USER.findall(text)


def content(message: Json) -> str:
    """The message's text with markup. Apps often leave `text` empty and use blocks or attachments."""
    text = str(message.get("text") or "") or _lines(_block_texts(message.get("blocks")))
    attached = _lines(_attachment_text(attachment) for attachment in objects(message.get("attachments")))
    return "\n".join(text for text in (text.strip(), attached) if text)


def _token_text(token: str, names: NameOfUser) -> str:
    target, _, label = token.partition("|")
    match target[:1]:
        case "@":
            return f"@{names(target[1:]) or label or target[1:]}"
        case "#":
            return f"#{label or target[1:]}"
        case "!":
            return _special(target[1:], label)
        case _:
            return _link(target, label)


def _special(target: str, label: str) -> str:
    """`here`, `channel`, `everyone`, `subteam^S1`, `date^1392734382^{date}`."""
    word, _, rest = target.partition("^")
    match word:
        case "subteam":
            return label if label.startswith("@") else f"@{label or rest}"
        case "date":
            return label or rest
        case _:
            return f"@{word}"


def _link(target: str, label: str) -> str:
    bare = target.removeprefix("mailto:").removeprefix("tel:")
    return bare if not label or label in (target, bare) else f"{label} ({bare})"


def _attachment_text(attachment: Json) -> str:
    blocks = _lines(_block_texts(attachment.get("blocks")))
    texts = [attachment.get(name) for name in ("pretext", "title", "text")]
    fields = [f"{field.get('title')}: {field.get('value')}" for field in objects(attachment.get("fields"))]
    text = _lines([*(str(text) for text in texts if text), blocks, *fields])
    return text or str(attachment.get("fallback") or "")


def _block_texts(blocks: object) -> Iterator[str]:
    for block in objects(blocks):
        match block.get("type"):
            case "rich_text":
                yield from _rich_text_lines(block.get("elements"), 0)
            case "image" | "video":
                yield str(block.get("alt_text") or "")
            case _:
                yield from _other_block_texts(block)


def _other_block_texts(block: Json) -> Iterator[str]:
    yield _words(block.get("text"))
    yield from (_words(field) for field in objects(block.get("fields")))
    yield " ".join(_words(element) for element in objects(block.get("elements")) if element.get("type") != "button")


def _rich_text_lines(elements: object, depth: int) -> Iterator[str]:
    """Each section and each list item becomes a line; elements below the depth limit are left out."""
    for element in objects(elements) if depth < _MAX_DEPTH else ():
        inner = element.get("elements")
        match element.get("type"):
            case "rich_text_list":
                yield from (f"- {line}" for line in _rich_text_lines(inner, depth + 1))
            case "rich_text_quote":
                yield f"> {_inline(inner)}"
            case _:
                yield _inline(inner)


def _inline(elements: object) -> str:
    return "".join(_element_markup(element) for element in objects(elements))


def _element_markup(element: Json) -> str:
    token = _token(element)
    return f"<{token}>" if token else escape(_words(element))


def _token(element: Json) -> str | None:
    """The element in the markup of texts."""
    match element:
        case {"type": "user", "user_id": str(person)}:
            return f"@{person}"
        case {"type": "channel", "channel_id": str(channel)}:
            return f"#{channel}"
        case {"type": "link", "url": str(url)}:
            return f"{url}|{element.get('text') or url}"
        case {"type": "broadcast", "range": str(audience)}:
            return f"!{audience}"
        case {"type": "usergroup", "usergroup_id": str(group)}:
            return f"!subteam^{group}"
        case _:
            return None


def _words(value: object) -> str:
    """The text of a string or of an object with `text`."""
    for _ in range(_MAX_DEPTH):
        match value:
            case {"type": "emoji", "name": str(name)}:
                return f":{name}:"
            case {"text": inner}:
                value = inner
            case str():
                return value
            case _:
                return ""
    return ""


def _lines(texts: Iterable[Any]) -> str:
    return "\n".join(text for text in texts if text)
