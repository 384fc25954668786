"""Results on their way to an agent: cleaned, redacted and cut to size.

Most results need no cleaning; they are only searched, and passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from api.toolbox.output.redaction import Redactor
from api.toolbox.output.sanitize import clean_json, is_clean, shortened
from api.toolbox.output.tool_result import Failure, ToolResult

MAX_TEXT = 50_000
"""Characters, in all texts of one result together."""
MAX_STRUCTURED = 200_000
MAX_MEDIA = 2_000_000
"""Bytes as written in JSON, in all images, sounds and files of one result together."""
MAX_BLOCKS = 200
BEGINNING = 4 * MAX_TEXT
_encode = msgspec.json.Encoder().encode

Json = dict[str, Any]


def failed(failure: Failure) -> ToolResult:
    content = _encode([{"type": "text", "text": failure.text}])
    return ToolResult(failure.text, content, None, is_error=True, failure=failure)


def of_tool(result: Json, redact: Redactor) -> ToolResult:
    """The result of `tools/call`."""
    content, is_error = result.get("content"), result.get("isError") is True
    plain = _plain_text(content, redact)
    if plain is not None and "structuredContent" not in result:
        return ToolResult(plain, _encode(content), None, is_error)
    blocks = _fit_blocks(content, redact)
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
        fitted += room.fit(clean_json(block, redact))
    if left_out := room.left_out + max(len(blocks) - MAX_BLOCKS, 0):
        note = f"[{left_out} more parts left out. Ask for less, or for the next page, to get them.]"
        fitted.append(_text_block(note))
    return fitted


def _plain_text(content: object, redact: Redactor) -> str | None:
    """The text of a result that is a single short text, as most are; None for any other."""
    if not isinstance(content, list) or len(content) != 1:
        return None
    block = content[0]
    if not isinstance(block, dict) or block.keys() != {"type", "text"} or block["type"] != "text":
        return None
    text = block["text"]
    is_plain = isinstance(text, str) and len(text) <= MAX_TEXT and is_clean(text) and redact.finds_nothing_in(text)
    return text if is_plain else None


class _Room:
    """How much text and media still fits into one result."""

    def __init__(self) -> None:
        self._text = MAX_TEXT
        self._media = MAX_MEDIA
        self.left_out = 0

    def fit(self, block: Json) -> list[Json]:
        match block:
            case {"type": "text", "text": str(text)}:
                return [block | {"text": self._cut(text)}] if self._has_room() else []
            case {"type": "resource", "resource": {"text": str(text)} as resource}:
                return [block | {"resource": resource | {"text": self._cut(text)}}] if self._has_room() else []
            case {"type": "image" | "audio" | "resource"}:
                return [self._media_or_note(block)]
            case {"type": str()}:
                return [self._media_or_note(block)]
            case _:
                return []

    def _has_room(self) -> bool:
        self.left_out += not self._text
        return self._text > 0

    def _cut(self, text: str) -> str:
        cut = shortened(text, self._text)
        self._text = 0 if len(cut) < len(text) else self._text - len(text)
        return cut

    def _media_or_note(self, block: Json) -> Json:
        size = len(_encode(block))
        if size > self._media:
            return _text_block(f"[{_kind(block)} of {size} bytes left out: more than is passed on.]")
        self._media -= size
        return block


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
