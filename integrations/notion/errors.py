"""Errors of Notion: what its responses mean, and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from integrations.json_object import Json
from integrations.service_client import (
    FailedKind,
    RateLimited,
    Rejected,
    ServerTrouble,
    ToolFailed,
    Verdict,
)

_OTHER_KIND = re.compile(r"\bis a (page|database|data source|block)\b[^.]*\bnot a\b")
_ARCHIVED = re.compile(r"\bedit\b.*\b(?:archived|in (?:the )?trash)\b")
_SECONDS = re.compile(r"[0-9]{1,6}")
MISSING_CODES = ("object_not_found", "invalid_request_url")
"""The second for an id of another kind in the URL; for some kinds only the message says so."""
NOT_FOUND = (
    "Notion finds nothing with that id: it does not exist, or it is not shared with this connection. "
    "To share it, open the page in Notion, then ••• > Connections > this connection. "
    "`notion_search` lists what is shared."
)
OTHER_KIND_TEXTS: Mapping[str, str] = {
    "page": "This is the id of a page, not of a database. `notion_read` reads the page and shows its parent.",
    **dict.fromkeys(
        ("database", "data source"),
        "This is the id of a database, not of a page. `notion_query_database` lists its pages with their ids.",
    ),
    "block": "This is the id of a block, not of a page. Pass the page that contains it.",
}
IN_TRASH = (
    "This page or its parent is in the trash and cannot be changed. "
    "Restore it first: `notion_update` with `archived` false."
)
NO_TEXT = "The text contains half of a character (a lone surrogate). Nothing was changed."
INVALID_CURSOR = "`startCursor` is not a valid cursor. Start again without it."
BLOCKED = (
    "Notion has blocked the requests of this connection. "
    "Do not retry: a workspace manager must contact Notion's support."
)
NO_BLOCKS_LEFT = (
    "The workspace has used all blocks of its free plan, so nothing can be added. "
    "Do not retry until blocks have been removed or the plan has been changed."
)
FORBIDDEN = (
    "Notion does not allow this connection to do that ({}). Either the integration lacks a capability (to read, insert "
    "or update content), which its owner can add at notion.com/my-integrations, or the person who connected it lacks "
    "the right."
)

REFUSED: tuple[FailedKind, ...] = ("invalid_arguments", "upstream_refused")


class ObjectNotFound(ToolFailed):
    """The object does not exist, is of another kind, or is not shared with the connection."""

    def __init__(self, text: str, kind: FailedKind = "upstream_refused") -> None:
        super().__init__(kind, text)


def rejection(status: int, error: Json) -> Verdict:
    code, message = str(error.get("code") or ""), message_of(error)
    if is_missing(error):
        return None  # `require_existing` turns it into an error
    if status == HTTPStatus.FORBIDDEN:
        return Rejected(
            NO_BLOCKS_LEFT
            if "block_limit" in additional_data(error)
            else FORBIDDEN.format((message or code or str(status)).rstrip("."))
        )
    if "start_cursor" in message:
        return Rejected(INVALID_CURSOR, "invalid_arguments")
    if _ARCHIVED.search(message):
        return Rejected(IN_TRASH)
    kind: FailedKind = "invalid_arguments" if code == "validation_error" else "upstream_refused"
    return Rejected(f"Notion rejected the request: {message or code or f'HTTP status {status}'}", kind)


def is_missing(response: Json) -> bool:
    return response.get("object") == "error" and (
        response.get("code") in MISSING_CODES or bool(_OTHER_KIND.search(message_of(response)))
    )


def require_existing(response: Json) -> Json:
    if is_missing(response):
        other = _OTHER_KIND.search(message_of(response))
        raise ObjectNotFound(OTHER_KIND_TEXTS[other[1]], "invalid_arguments") if other else ObjectNotFound(NOT_FOUND)
    return response


def rate_limit(headers: Mapping[str, str], error: Json) -> Verdict:
    if additional_data(error).get("rate_limit_reason") == "public_api_request_blocked":
        return Rejected(BLOCKED)
    seconds = headers.get("retry-after", "")
    return RateLimited(float(seconds) if _SECONDS.fullmatch(seconds) else None)


def server_trouble(text: str, more: Json) -> ServerTrouble:
    saved = [more.get("committed_resource_id"), *_as_list(more.get("committed_child_ids"))]
    if ids := ", ".join(str(item) for item in saved if item):
        return ServerTrouble(
            text, if_maybe_applied=f"However, Notion saved it as {ids}: do not send it again. `notion_read` shows it."
        )
    return ServerTrouble(text)


def message_of(error: Json) -> str:
    message = error.get("message")
    return message if isinstance(message, str) else ""


def additional_data(error: Json) -> Json:
    more = error.get("additional_data")
    return more if isinstance(more, dict) else {}


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
