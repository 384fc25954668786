"""Results on their way to an agent: cleaned, redacted and cut to size.

Most results need no cleaning; they are only searched, and passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from api.kit.redaction import NO_SECRETS, Redactor
from api.toolbox.output.sanitize import clean_json, is_clean, safe_line, shortened
from api.toolbox.output.tool_result import Failure, ToolResult

MAX_TEXT = 50_000
"""Characters, in all texts of one result together."""
MAX_STRUCTURED = 200_000
MAX_MEDIA = 2_000_000
"""Bytes as written in JSON, in all images, sounds and files of one result together."""
MAX_BLOCKS = 200
MAX_KIND = 200
BEGINNING = 4 * MAX_TEXT
"""Characters of one text that are looked at. The rest is cut off, so it is not cleaned either."""
_COST_OF_STRING = 16
"""A string takes as long to clean as so many characters, at least."""
_PLAIN_FIELDS, _TEXT_FIELDS = {"content", "isError", "resultType"}, {"type", "text"}
_encode = msgspec.json.Encoder().encode

Json = dict[str, Any]


def is_small(result: Json, redact: Redactor = NO_SECRETS) -> bool:
    """Whether the result is converted in a few milliseconds, whatever it is, so that the event loop can do it."""
    content = result.get("content")
    if isinstance(content, list) and len(content) == 1 and result.keys() <= _PLAIN_FIELDS:  # as most are
        block = content[0]
        if isinstance(block, dict) and block.keys() == _TEXT_FIELDS and isinstance(block["text"], str):
            return len(block["text"]) <= redact.most_at_once
    try:
        encoded = _encode(result)
    except (RecursionError, UnicodeEncodeError):
        return False
    return max(len(encoded), encoded.count(b'"') // 2 * _COST_OF_STRING) <= redact.most_at_once


def failed(failure: Failure) -> ToolResult:
    content = _encode([{"type": "text", "text": failure.text}])
    return ToolResult(failure.text, content, None, is_error=True, failure=failure)


def plain_of_tool(result: Json, redact: Redactor) -> ToolResult | None:
    """The result of `tools/call`, if it is a single short text that needs no cleaning, as most are."""
    content = result.get("content")
    if "structuredContent" in result or not isinstance(content, list) or len(content) != 1:
        return None
    text = _plain_text(content, redact, min(MAX_TEXT, redact.most_at_once))
    return None if text is None else ToolResult(text, _encode(content), None, result.get("isError") is True)


def of_tool(result: Json, redact: Redactor) -> ToolResult:
    """The result of `tools/call`."""
    if (plain := plain_of_tool(result, redact)) is not None:
        return plain
    is_error = result.get("isError") is True
    blocks = _fit_blocks(result.get("content"), redact)
    structured, note = _fit_structured(result.get("structuredContent"), redact)
    if note:
        blocks = [*blocks, _text_block(note)]
    text = "\n".join(_as_text(block) for block in blocks)
    return ToolResult(text, _encode(blocks), structured, is_error)


def of_method(result: Json, redact: Redactor) -> ToolResult:
    """The result of any other method: JSON of unknown shape."""
    structured, note = _fit_structured(result, redact)
    if structured is not None:
        shown = structured.decode()
    else:  # only the beginning of a long one is cleaned
        shown = clean_json(redact.beginning(_encode(result).decode(), BEGINNING), redact)
    blocks = [_text_block(shortened(shown, MAX_TEXT)), *([_text_block(note)] if note else [])]
    return ToolResult("\n".join(_as_text(block) for block in blocks), _encode(blocks), structured)


def _fit_blocks(content: object, redact: Redactor) -> list[Json]:
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if _plain_text(blocks, redact) is not None:
        return blocks
    fitted, room = list[Json](), _Room()
    for block in blocks[:MAX_BLOCKS]:
        fitted += room.fit(block, redact)
    if left_out := room.left_out + max(len(blocks) - MAX_BLOCKS, 0):
        note = f"[{left_out} more parts left out. Ask for less, or for the next page, to get them.]"
        fitted.append(_text_block(note))
    return fitted


def _plain_text(content: object, redact: Redactor, most: int = MAX_TEXT) -> str | None:
    """The text of a result that is a single short text, as most are; None for any other."""
    if not isinstance(content, list) or len(content) != 1:
        return None
    block = content[0]
    if not isinstance(block, dict) or block.keys() != {"type", "text"} or block["type"] != "text":
        return None
    text = block["text"]
    is_plain = isinstance(text, str) and len(text) <= most and is_clean(text) and redact.finds_nothing_in(text)
    return text if is_plain else None


class _Room:
    """How much text and media still fits into one result."""

    def __init__(self) -> None:
        self._text = MAX_TEXT
        self._media = MAX_MEDIA
        self.left_out = 0

    def fit(self, block: Json, redact: Redactor) -> list[Json]:
        """The block cleaned, unless there is no room for it."""
        match block:
            case {"type": "text", "text": str(text)}:
                beginning, rest = _beginning(text, redact)
                return [self._cut(clean_json(block | {"text": beginning}, redact), rest)] if self._has_room() else []
            case {"type": "resource", "resource": {"text": str(text)} as resource}:
                beginning, rest = _beginning(text, redact)
                begun = block | {"resource": resource | {"text": beginning}}
                return [self._cut_resource(clean_json(begun, redact), rest)] if self._has_room() else []
            case {"type": str()}:
                return [self._media_or_note(block, redact)]
            case _:
                return []

    def _has_room(self) -> bool:
        self.left_out += not self._text
        return self._text > 0

    def _cut(self, block: Json, rest: int) -> Json:
        text = block["text"]
        cut = shortened(text, self._text, cut_before=rest)
        self._text = 0 if rest or len(cut) < len(text) else self._text - len(text)
        return block | {"text": cut}

    def _cut_resource(self, block: Json, rest: int) -> Json:
        return block | {"resource": self._cut(block["resource"], rest)}

    def _media_or_note(self, block: Json, redact: Redactor) -> Json:
        if _json_size(block) > self._media:  # then it is not cleaned for nothing
            return self._media_note(block, redact)
        clean_block: Json = clean_json(block, redact)
        size = len(_encode(clean_block))
        if size > self._media:
            return self._media_note(clean_block, redact)
        self._media -= size
        return clean_block

    def _media_note(self, block: Json, redact: Redactor) -> Json:
        kind = safe_line(_kind(block), redact, MAX_KIND)
        return _text_block(f"[{kind} of {_json_size(block)} bytes left out: more than is passed on.]")


def _beginning(text: str, redact: Redactor) -> tuple[str, int]:
    """As much of the text as is looked at, and the length of the rest."""
    return (text, 0) if len(text) <= BEGINNING else (redact.beginning(text, BEGINNING), len(text) - BEGINNING)


def _json_size(block: Json) -> int:
    try:
        return len(_encode(block))
    except UnicodeEncodeError:  # a lone surrogate, which cleaning removes
        return 0


def _fit_structured(value: object, redact: Redactor) -> tuple[bytes | None, str | None]:
    """With a note if it is left out, since an object cannot be cut."""
    if not isinstance(value, dict):
        return None, None
    try:
        encoded = _encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which cleaning removes
        value = clean_json(value, redact)
        encoded = _encode(value)
    if len(encoded) > MAX_STRUCTURED:
        return None, f"[structuredContent of {len(encoded)} bytes left out. Ask for less, or for the next page.]"
    if _needs_no_cleaning(encoded, redact):
        return encoded, None
    return _encode(clean_json(value, redact)), None


def _needs_no_cleaning(encoded: bytes, redact: Redactor) -> bool:
    """JSON escapes controls: ASCII without escapes contains nothing invisible."""
    if not encoded.isascii() or b"\\u" in encoded or b"\x7f" in encoded or b"\\r" in encoded:
        return False
    return redact.finds_nothing_in(encoded.decode("ascii"))


def _as_text(block: Json) -> str:
    """For clients that take only text."""
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource_link", "uri": str(uri)}:
            return " ".join(_named(block, uri))
        case _:
            return f"[{_kind(block)}]"


def _named(block: Json, uri: str) -> Iterator[str]:
    name = block.get("title") or block.get("name")
    if isinstance(name, str):
        yield f"{name}:"
    yield uri


def _kind(block: Json) -> str:
    inner = block.get("resource")
    mime = (inner if isinstance(inner, dict) else block).get("mimeType")
    return f"{block.get('type')} ({mime})" if isinstance(mime, str) else str(block.get("type"))


def _text_block(text: str) -> Json:
    return {"type": "text", "text": text}
