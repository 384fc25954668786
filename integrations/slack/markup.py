"""Slack's markup and blocks as plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from integrations.json_object import Json
from integrations.text import objects

_TOKEN = re.compile(r"<([^<>]*)>")
_USER = re.compile(r"<@([UW][A-Z0-9]+)")
_DEEPEST = 8
NameOfUser = Callable[[str], str | None]


def plain(text: str, names: NameOfUser) -> str:
    """Write links and mentions as plain text; `names` returns a user's name by ID."""
    shown = _TOKEN.sub(lambda found: _shown(found[1], names), text)
    return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def escaped(text: str) -> str:
    """Escape a text so that Slack reads no mention or link in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mentioned(text: str) -> list[str]:
    return _USER.findall(text)


def content(message: Json) -> str:
    """The message's text with markup. Apps often leave `text` empty and use blocks or attachments."""
    found = str(message.get("text") or "") or _lines(_of_blocks(message.get("blocks")))
    attached = _lines(_of_attachment(each) for each in objects(message.get("attachments")))
    return "\n".join(each for each in (found.strip(), attached) if each)


def _shown(token: str, names: NameOfUser) -> str:
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


def _of_attachment(attachment: Json) -> str:
    blocks = _lines(_of_blocks(attachment.get("blocks")))
    parts = [attachment.get(name) for name in ("pretext", "title", "text")]
    fields = [f"{each.get('title')}: {each.get('value')}" for each in objects(attachment.get("fields"))]
    found = _lines([*(str(each) for each in parts if each), blocks, *fields])
    return found or str(attachment.get("fallback") or "")


def _of_blocks(blocks: object) -> Iterator[str]:
    for block in objects(blocks):
        match block.get("type"):
            case "rich_text":
                yield from _of_rich_text(block.get("elements"), 0)
            case "image" | "video":
                yield str(block.get("alt_text") or "")
            case _:
                yield from _of_block(block)


def _of_block(block: Json) -> Iterator[str]:
    yield _words(block.get("text"))
    yield from (_words(each) for each in objects(block.get("fields")))
    yield " ".join(_words(each) for each in objects(block.get("elements")) if each.get("type") != "button")


def _of_rich_text(elements: object, depth: int) -> Iterator[str]:
    """Each section and each list item becomes a line; elements below the depth limit are left out."""
    for element in objects(elements) if depth < _DEEPEST else ():
        inner = element.get("elements")
        match element.get("type"):
            case "rich_text_list":
                yield from (f"- {line}" for line in _of_rich_text(inner, depth + 1))
            case "rich_text_quote":
                yield f"> {_inline(inner)}"
            case _:
                yield _inline(inner)


def _inline(elements: object) -> str:
    return "".join(_of_element(each) for each in objects(elements))


def _of_element(element: Json) -> str:
    found = _token(element)
    return f"<{found}>" if found else escaped(_words(element))


def _token(element: Json) -> str | None:
    """The element in the markup of texts."""
    match element:
        case {"type": "user", "user_id": str(person)}:
            return f"@{person}"
        case {"type": "channel", "channel_id": str(channel)}:
            return f"#{channel}"
        case {"type": "link", "url": str(url)}:
            return f"{url}|{element.get('text') or url}"
        case {"type": "broadcast", "range": str(everybody)}:
            return f"!{everybody}"
        case {"type": "usergroup", "usergroup_id": str(group)}:
            return f"!subteam^{group}"
        case _:
            return None


def _words(found: object) -> str:
    """The text of a string or of an object with `text`."""
    for _ in range(_DEEPEST):
        match found:
            case {"type": "emoji", "name": str(name)}:
                return f":{name}:"
            case {"text": inner}:
                found = inner
            case str():
                return found
            case _:
                return ""
    return ""


def _lines(found: Iterable[Any]) -> str:
    return "\n".join(each for each in found if each)
