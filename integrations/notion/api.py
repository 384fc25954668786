"""How is Notion asked, and what do its answers mean?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar, Literal

from integrations.api import MAYBE_DONE, Api, Busy, FailedKind, No, Reply, ToolFailed, Trouble, Unauthorized, Verdict

VERSION = "2025-09-03"
OVERLOADED = 529
MAX_PAGE = 100
_OTHER_KIND = re.compile(r"\bis a (?:page|database|data source|block)\b[^.]*\bnot a\b")
MISSING = ("object_not_found", "invalid_request_url")
"""The second where an id in the URL is of something else."""
NOT_THERE = (
    "Notion finds nothing with that id: it does not exist, or it is not shared with this connection. "
    "Somebody has to share it: in Notion, open the page, then ••• > Connections > this connection. "
    "notion_search lists what is shared."
)
BLOCKED = "Notion has blocked the requests of this connection. To ask again does not help: somebody has to ask Notion."
NO_BLOCKS_LEFT = (
    "The workspace has used up the blocks of its free plan, so nothing can be added. "
    "Somebody has to remove some, or change the plan; to try again does not help."
)
LACKS = (
    "Notion does not let this connection do that ({}). It lacks a capability (read, insert or update content, which "
    "whoever made the app sets at notion.com/my-integrations), or whoever connected has no such right to this page."
)

Json = dict[str, Any]


class Missing(ToolFailed):
    """There is no such thing, or not of that kind, or nobody has shared it."""

    def __init__(self, text: str) -> None:
        super().__init__("upstream_refused", text)


class NotionApi(Api):
    headers: ClassVar[Mapping[str, str]] = {"Notion-Version": VERSION}

    async def read(self, path: str, query: Mapping[str, object] | None = None) -> Json:
        """`Missing` where Notion finds nothing."""
        return _there(await self.get(path, query))

    async def asked(self, path: str, body: Json) -> Json:
        """A question that is a POST."""
        return _there(await self.sent("POST", path, body=body, reads=True))

    async def changed(self, method: Literal["POST", "PATCH"], path: str, body: Json, look: str) -> Json:
        """`look`: how to find out whether it was carried out, where that is not known."""
        try:
            return _there(await self.sent(method, path, body=body))
        except ToolFailed as failed:
            if MAYBE_DONE in failed.text:
                raise ToolFailed(failed.kind, f"{failed.text} {look}", failed.retry_after) from failed
            raise

    def seconds_left(self) -> float:
        return self._http.seconds_left()

    def verdict(self, reply: Reply) -> Verdict:
        if reply.status == HTTPStatus.OK:
            is_object = isinstance(reply.body, dict)
            return None if is_object else Trouble("Notion gave an answer that cannot be read.")
        error = reply.body if isinstance(reply.body, dict) else {}
        match reply.status:
            case HTTPStatus.UNAUTHORIZED:
                return Unauthorized()
            case HTTPStatus.TOO_MANY_REQUESTS | 529:
                return _busy(reply.headers, error)
            case HTTPStatus.CONFLICT:
                return Trouble("Somebody else was changing the same at that moment.", undone=True)
            case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return _trouble(status, _more(error))
            case status:
                return _refusal(status, error)


def _refusal(status: int, error: Json) -> Verdict:
    code, said = str(error.get("code") or ""), _said(error)
    if is_missing(error):
        return None  # whoever asked decides what that means
    if status == HTTPStatus.FORBIDDEN:
        return No(
            NO_BLOCKS_LEFT if "block_limit" in _more(error) else LACKS.format((said or code or str(status)).rstrip("."))
        )
    kind: FailedKind = "invalid_arguments" if code == "validation_error" else "upstream_refused"
    return No(f"Notion does not take this: {said or code or f'it answered {status}'}", kind)


def is_missing(answer: Json) -> bool:
    return answer.get("object") == "error" and (answer.get("code") in MISSING or _is_of_another_kind(answer))


def _is_of_another_kind(error: Json) -> bool:
    """It is there: Notion says so in words alone."""
    return bool(_OTHER_KIND.search(_said(error)))


def _there(answer: Json) -> Json:
    if is_missing(answer):
        raise Missing(_first_sentence(_said(answer)) if _is_of_another_kind(answer) else NOT_THERE)
    return answer


def _first_sentence(text: str) -> str:
    return f"{text.partition('. ')[0].rstrip('.')}. Pass the id of a page."


def _busy(headers: Mapping[str, str], error: Json) -> Verdict:
    if _more(error).get("rate_limit_reason") == "public_api_request_blocked":
        return No(BLOCKED)
    told = headers.get("retry-after", "")
    return Busy(float(told) if told.isdecimal() else None)


def _trouble(status: int, more: Json) -> Trouble:
    text = f"Notion is in trouble: it answered {status}."
    saved = [more.get("committed_resource_id"), *_listed(more.get("committed_child_ids"))]
    if ids := ", ".join(str(each) for each in saved if each):
        return Trouble(text, told=f"Yet it was saved, as {ids}: do not send it again. notion_read shows it.")
    return Trouble(text)


def _said(error: Json) -> str:
    message = error.get("message")
    return message if isinstance(message, str) else ""


def _more(error: Json) -> Json:
    more = error.get("additional_data")
    return more if isinstance(more, dict) else {}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
