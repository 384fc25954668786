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
    LONGEST,
    Message,
    counted,
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

MOST_ASKED = 999
END_OF_TIME = "9999999999.999999"
NONE_THEN = "This holds for the given time only: without {} the newest messages come, whatever their date."
FEWER = "Ask for fewer messages: a smaller `limit`."
_OF_ONE = re.compile(r"/p\d{16}\b")


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
        told = [message.told(in_thread=self.thread_ts is not None) for message in self.messages]
        return "\n\n".join([self._head(), *told, *self._foot()])

    def _head(self) -> str:
        there = counted(len(self.messages), "message", "messages") if self.messages else "No messages"
        where = f"in the thread {self.thread_ts} of {self.channel_id}" if self.thread_ts else f"in {self.channel_id}"
        order = ", oldest first" if self.thread_ts else ", newest first"
        more = ", and more follow" if self.next_cursor else ""
        return f"{there} {where}{order if len(self.messages) > 1 else ''}{more}.{self._left_out()}"

    def _left_out(self) -> str:
        notices = "join or leave notice", "join or leave notices"
        left_out = f" {counted(self.notices, *notices)} left out." if self.notices else ""
        return f"{left_out} {self.hint}" if self.hint else left_out

    def _foot(self) -> list[str]:
        links = [_OF_ONE.sub("/p<ts without the dot>", each.url) for each in self.messages[-1:]]
        people = ", ".join(f"{name} <@{person}>" for person, name in (self.people or {}).items())
        lines = [*(f"People: {each}" for each in (people,) if each), *(f"Link to a message: {each}" for each in links)]
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
    def of_slack(self) -> Json:
        """Slack's arguments, bounds included. Without `latest`, Slack returns the messages closest to `oldest`."""
        oldest, latest = self.oldest, self.latest
        if self.where.thread_ts:
            oldest = self.mark.end or oldest
        else:
            latest = self.mark.end or latest or (END_OF_TIME if oldest else None)
        return {
            "channel": self.where.channel,
            "ts": self.where.thread_ts,
            "limit": min(self.limit, MOST_ASKED),
            "cursor": self.mark.slack,
            "oldest": oldest,
            "latest": latest,
            "inclusive": True if oldest or latest else None,
        }

    @property
    def hint(self) -> str | None:
        """The note for a time range without messages."""
        bounds = [name for name, given in (("`oldest`", self.oldest), ("`latest`", self.latest)) if given]
        return NONE_THEN.format(" and ".join(bounds)) if bounds else None

    def behind(self, ts: str) -> HistoryCursor:
        return replace(self.mark, slack=None, end=beside(ts, 1 if self.where.thread_ts else -1))


async def read(api: SlackApi, workspace: SlackWorkspace, request: HistoryRequest) -> History:
    request, page = await _asked(api, request)
    given = [each for each in objects(page.get("messages")) if has_ts(each)]
    there = given[: request.limit + 1]  # a thread's page has its first message in addition to `limit`
    found = [each for each in there if not _is_shown_already(each, request)]
    spoken = [each for each in found if not is_notice(each)]
    people = UserNames()
    for message in spoken:
        people.remember_author(message)
    await people.learn(api, people_in(spoken))
    first, channel = _beside(spoken, request), request.where.channel
    shares = [LONGEST] * first + [longest_of(spoken[first:])] * (len(spoken) - first)
    made = (
        message_of(each, channel, workspace, people, longest, full=request.full)
        for each, longest in zip(spoken, shares, strict=True)
    )
    told = [*islice(made, first), *fitting(made)]
    is_cut = len(told) < len(spoken) or len(there) < len(given)
    following = _following(page, request, there, told if is_cut else None)
    return History(
        channel_id=channel,
        thread_ts=request.where.thread_ts,
        messages=told,
        people=people.known_names(people_in(spoken[: len(told)])),
        notices=len(found) - len(spoken) or None,
        next_cursor=following,
        hint=None if told or following else request.hint,
    )


async def _asked(api: SlackApi, request: HistoryRequest) -> tuple[HistoryRequest, Json]:
    """For a reply's `ts` Slack returns only that reply, so its thread is read instead."""
    method = "conversations.replies" if request.where.thread_ts else "conversations.history"
    if request.mark.thread:
        request = replace(request, where=replace(request.where, thread_ts=request.mark.thread))
    with too_large_hint(FEWER):
        page = await api.call_method(method, **request.of_slack)
        where = _hanging_on(request.where, page)
        if where.thread_ts and not page.get("messages"):  # perhaps a reply outside the time range
            where = await thread_of(api, request.where)
        if where != request.where:
            request = replace(request, where=where, mark=replace(request.mark, thread=where.thread_ts))
            page = await api.call_method(method, **request.of_slack)
    return request, page


def _hanging_on(where: MessageReference, page: Json) -> MessageReference:
    """Replace a reply by the first message of its thread."""
    if where.thread_ts is None:
        return where
    first = next(iter(objects(page.get("messages"))), {})
    return replace(where, thread_ts=str(first.get("thread_ts") or where.thread_ts))


def _is_shown_already(message: Json, request: HistoryRequest) -> bool:
    """Slack begins every page of a thread with the thread's first message."""
    goes_on = bool(request.mark.slack or request.mark.end)
    return goes_on and message.get("ts") == request.where.thread_ts


def _beside(spoken: Sequence[Json], request: HistoryRequest) -> int:
    """The number of leading messages outside the time range: Slack begins a thread with its first message, whatever its
    age. They do not reduce the room of the others.
    """
    is_beside = request.where.thread_ts and len(spoken) > 1 and str(spoken[0]["ts"]) < (request.oldest or "")
    return 1 if is_beside else 0


def _following(page: Json, request: HistoryRequest, there: Sequence[Json], cut: Sequence[Message] | None) -> str | None:
    """`cut`: the messages that fit, if not all did."""
    if cut:
        return request.behind(cut[-1].ts).encode()
    if cursor := next_cursor(page):
        return replace(request.mark, slack=cursor).encode()
    return request.behind(str(there[-1]["ts"])).encode() if page.get("has_more") and there else None


async def thread_of(api: SlackApi, where: MessageReference) -> MessageReference:
    """Check that the message exists, and return its thread's first message. Slack accepts replies to missing messages
    and shows them to no one.
    """
    page = await api.call_method("conversations.replies", channel=where.channel, ts=where.thread_ts, limit=1)
    return _hanging_on(where, page)
