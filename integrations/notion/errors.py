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
MISSING = ("object_not_found", "invalid_request_url")
"""The second where an id in the URL is of something else; some of it Notion says in words alone."""
NOT_THERE = (
    "Notion finds nothing with that id: it does not exist, or it is not shared with this connection. "
    "Somebody has to share it: in Notion, open the page, then ••• > Connections > this connection. "
    "`notion_search` lists what is shared."
)
OTHERS: Mapping[str, str] = {
    "page": "This is the id of a page, not of a database. `notion_read` reads the page, and tells what it is in.",
    **dict.fromkeys(
        ("database", "data source"),
        "This is the id of a database, not of a page. `notion_query_database` lists its pages with their ids.",
    ),
    "block": "This is the id of a block, not of a page. Pass the page that it is on.",
}
IN_TRASH = (
    "This page, or what it is in, is in the trash, where nothing can be changed. "
    "Take it out first: `notion_update` with `archived` false."
)
NO_TEXT = "There is half of a character (a lone surrogate) in what is to be sent. Nothing was changed."
OLD_CURSOR = "`startCursor` is not valid any more. Start again without it."
BLOCKED = (
    "Notion has blocked the requests of this connection. Do not try again: somebody has to contact Notion's support."
)
NO_BLOCKS_LEFT = (
    "The workspace has used up the blocks of its free plan, so nothing can be added. "
    "Somebody has to remove some, or change the plan. Do not try again before."
)
LACKS = (
    "Notion does not let this connection do that ({}). Either it lacks a capability (to read, insert or update "
    "content), which whoever made the app gives it at notion.com/my-integrations, or whoever connected has no such "
    "right there."
)

REFUSED: tuple[FailedKind, ...] = ("invalid_arguments", "upstream_refused")


class ObjectNotFound(ToolFailed):
    """There is no such thing, or not of that kind, or nobody has shared it."""

    def __init__(self, text: str, kind: FailedKind = "upstream_refused") -> None:
        super().__init__(kind, text)


def rejection(status: int, error: Json) -> Verdict:
    code, said = str(error.get("code") or ""), message_of(error)
    if is_missing(error):
        return None  # whoever asked decides what that means
    if status == HTTPStatus.FORBIDDEN:
        return Rejected(
            NO_BLOCKS_LEFT
            if "block_limit" in additional_data(error)
            else LACKS.format((said or code or str(status)).rstrip("."))
        )
    if "start_cursor" in said:
        return Rejected(OLD_CURSOR, "invalid_arguments")
    if _ARCHIVED.search(said):
        return Rejected(IN_TRASH)
    kind: FailedKind = "invalid_arguments" if code == "validation_error" else "upstream_refused"
    return Rejected(f"Notion does not take this: {said or code or f'it answered {status}'}", kind)


def is_missing(answer: Json) -> bool:
    return answer.get("object") == "error" and (
        answer.get("code") in MISSING or bool(_OTHER_KIND.search(message_of(answer)))
    )


def require_existing(answer: Json) -> Json:
    if is_missing(answer):
        other = _OTHER_KIND.search(message_of(answer))
        raise ObjectNotFound(OTHERS[other[1]], "invalid_arguments") if other else ObjectNotFound(NOT_THERE)
    return answer


def rate_limit(headers: Mapping[str, str], error: Json) -> Verdict:
    if additional_data(error).get("rate_limit_reason") == "public_api_request_blocked":
        return Rejected(BLOCKED)
    told = headers.get("retry-after", "")
    return RateLimited(float(told) if _SECONDS.fullmatch(told) else None)


def server_trouble(text: str, more: Json) -> ServerTrouble:
    saved = [more.get("committed_resource_id"), *_listed(more.get("committed_child_ids"))]
    if ids := ", ".join(str(each) for each in saved if each):
        return ServerTrouble(
            text, if_maybe_applied=f"Yet it was saved, as {ids}: do not send it again. `notion_read` shows it."
        )
    return ServerTrouble(text)


def message_of(error: Json) -> str:
    message = error.get("message")
    return message if isinstance(message, str) else ""


def additional_data(error: Json) -> Json:
    more = error.get("additional_data")
    return more if isinstance(more, dict) else {}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
