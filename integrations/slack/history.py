"""Reading one page of a channel or a thread, and the cursor of the next page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pydantic import Field

from integrations.json_object import Json
from integrations.service_client import too_large_hint
from integrations.slack.client import SlackApi, SlackWorkspace, next_cursor
from integrations.slack.cursors import HistoryCursor, beside
from integrations.slack.references import MessageReference
from integrations.slack.results import (
    MAX_SHARED,
    Message,
    count_text,
    fitting,
    has_ts,
    is_notice,
    longest_of,
    message_of,
    people_in,
)
from integrations.slack.users import UserNames
from integrations.text import more_follow, objects
from integrations.tool import Result

MAX_LIMIT = 999
END_OF_TIME = "9999999999.999999"
EMPTY_RANGE = "This holds for the given time only: without {} the newest messages come, whatever their date."
FEWER = "Ask for fewer messages: a smaller `limit`."
_MESSAGE_PATH = re.compile(r"/p\d{16}\b")


class History(Result):
    channel_id: str
    thread_ts: str | None = None
    messages: list[Message]
    people: dict[str, str] | None = Field(
        default=None, description="Names of authors and of mentioned people, by ID, if the connection may read names."
    )
    notices: int | None = Field(
        default=None, description="How many notices of people who joined or left were left out."
    )
    next_cursor: str | None = Field(
        default=None, description="For the next page, pass it as `cursor` with the same arguments."
    )

    hint: str | None = None

    def text(self) -> str:
        texts = [message.to_text(in_thread=self.thread_ts is not None) for message in self.messages]
        return "\n\n".join([self._head(), *texts, *self._foot()])

    def _head(self) -> str:
        number = count_text(len(self.messages), "message", "messages") if self.messages else "No messages"
        where = f"in the thread {self.thread_ts} of {self.channel_id}" if self.thread_ts else f"in {self.channel_id}"
        order = ", oldest first" if self.thread_ts else ", newest first"
        more = ", and more follow" if self.next_cursor else ""
        return f"{number} {where}{order if len(self.messages) > 1 else ''}{more}.{self._left_out()}"

    def _left_out(self) -> str:
        notices = "join or leave notice", "join or leave notices"
        left_out = f" {count_text(self.notices, *notices)} left out." if self.notices else ""
        return f"{left_out} {self.hint}" if self.hint else left_out

    def _foot(self) -> list[str]:
        links = [_MESSAGE_PATH.sub("/p<ts without the dot>", message.url) for message in self.messages[-1:]]
        people = ", ".join(f"{name} <@{person}>" for person, name in (self.people or {}).items())
        lines = [
            *(f"People: {names}" for names in (people,) if names),
            *(f"Link to a message: {link}" for link in links),
        ]
        more = [more_follow("cursor", self.next_cursor)] if self.next_cursor else []
        return ["\n".join(lines), *more] if lines else more


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """The part of a channel or thread to read."""

    where: MessageReference
    limit: int
    mark: HistoryCursor
    oldest: str | None = None
    latest: str | None = None
    full: bool = False

    @property
    def arguments(self) -> Json:
        """Slack's arguments, bounds included. Without `latest`, Slack returns the messages closest to `oldest`."""
        oldest, latest = self.oldest, self.latest
        if self.where.thread_ts:
            oldest = self.mark.end or oldest
        else:
            latest = self.mark.end or latest or (END_OF_TIME if oldest else None)
        return {
            "channel": self.where.channel,
            "ts": self.where.thread_ts,
            "limit": min(self.limit, MAX_LIMIT),
            "cursor": self.mark.slack,
            "oldest": oldest,
            "latest": latest,
            "inclusive": True if oldest or latest else None,
        }

    @property
    def hint(self) -> str | None:
        """The note for a time range without messages."""
        bounds = [name for name, bound in (("`oldest`", self.oldest), ("`latest`", self.latest)) if bound]
        return EMPTY_RANGE.format(" and ".join(bounds)) if bounds else None

    def cursor_after(self, ts: str) -> HistoryCursor:
        return replace(self.mark, slack=None, end=beside(ts, 1 if self.where.thread_ts else -1))


async def read(api: SlackApi, workspace: SlackWorkspace, request: HistoryRequest) -> History:
    request, page = await _load_page(api, request)
    loaded = [message for message in objects(page.get("messages")) if has_ts(message)]
    on_page = loaded[: request.limit + 1]  # a page of a thread has the thread's first message in addition to `limit`
    new = [message for message in on_page if not _is_shown_already(message, request)]
    messages = [message for message in new if not is_notice(message)]
    names = UserNames()
    for message in messages:
        names.remember_author(message)
    await names.learn(api, people_in(messages))
    leading, channel = _count_outside_range(messages, request), request.where.channel
    shares = [MAX_SHARED] * leading + [longest_of(messages[leading:])] * (len(messages) - leading)
    built = (
        message_of(message, channel, workspace, names, longest, full=request.full)
        for message, longest in zip(messages, shares, strict=True)
    )
    shown = [*islice(built, leading), *fitting(built)]
    is_cut = len(shown) < len(messages) or len(on_page) < len(loaded)
    cursor = _next_cursor(page, request, on_page, shown if is_cut else None)
    return History(
        channel_id=channel,
        thread_ts=request.where.thread_ts,
        messages=shown,
        people=names.known_names(people_in(messages[: len(shown)])),
        notices=len(new) - len(messages) or None,
        next_cursor=cursor,
        hint=None if shown or cursor else request.hint,
    )


async def _load_page(api: SlackApi, request: HistoryRequest) -> tuple[HistoryRequest, Json]:
    """Load a page. For a reply's `ts` Slack returns only that reply, so its thread is read instead."""
    method = "conversations.replies" if request.where.thread_ts else "conversations.history"
    if request.mark.thread:
        request = replace(request, where=replace(request.where, thread_ts=request.mark.thread))
    with too_large_hint(FEWER):
        page = await api.call_method(method, **request.arguments)
        where = _at_thread_start(request.where, page)
        if where.thread_ts and not page.get("messages"):  # perhaps a reply outside the time range
            where = await thread_of(api, request.where)
        if where != request.where:
            request = replace(request, where=where, mark=replace(request.mark, thread=where.thread_ts))
            page = await api.call_method(method, **request.arguments)
    return request, page


def _at_thread_start(where: MessageReference, page: Json) -> MessageReference:
    """Replace a reply by the first message of its thread."""
    if where.thread_ts is None:
        return where
    first = next(iter(objects(page.get("messages"))), {})
    return replace(where, thread_ts=str(first.get("thread_ts") or where.thread_ts))


def _is_shown_already(message: Json, request: HistoryRequest) -> bool:
    """Slack begins every page of a thread with the thread's first message."""
    is_continued = bool(request.mark.slack or request.mark.end)
    return is_continued and message.get("ts") == request.where.thread_ts


def _count_outside_range(messages: Sequence[Json], request: HistoryRequest) -> int:
    """The number of leading messages outside the time range: Slack begins a thread with its first message, whatever its
    age. They do not reduce the room of the others.
    """
    is_outside = request.where.thread_ts and len(messages) > 1 and str(messages[0]["ts"]) < (request.oldest or "")
    return 1 if is_outside else 0


def _next_cursor(
    page: Json, request: HistoryRequest, on_page: Sequence[Json], fitting_messages: Sequence[Message] | None
) -> str | None:
    """`fitting_messages`: the messages that fit, if not all did."""
    if fitting_messages:
        return request.cursor_after(fitting_messages[-1].ts).encode()
    if cursor := next_cursor(page):
        return replace(request.mark, slack=cursor).encode()
    return request.cursor_after(str(on_page[-1]["ts"])).encode() if page.get("has_more") and on_page else None


async def thread_of(api: SlackApi, where: MessageReference) -> MessageReference:
    """Check that the message exists, and return its thread's first message. Slack accepts replies to missing messages
    but does not show them.
    """
    page = await api.call_method("conversations.replies", channel=where.channel, ts=where.thread_ts, limit=1)
    return _at_thread_start(where, page)
