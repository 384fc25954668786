"""How is a channel, or a thread in it, read: one page of it, and where the next one begins?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from integrations.reading import objects
from integrations.slack.addresses import Address
from integrations.slack.api import Place, SlackApi, next_cursor
from integrations.slack.messages import LONGEST, ROOM, Message, counted, has_ts, is_notice, message_of, people_in
from integrations.slack.people import People
from integrations.tool import Json, Result

MOST_ASKED = 999
SINCE = "ts:"
"""Begins our own cursors, which tell the last message that was shown."""


class History(Result):
    channel_id: str
    thread_ts: str | None = None
    messages: list[Message]
    notices: int | None = Field(default=None, description="Left out: that somebody joined or left.")
    next_cursor: str | None = Field(default=None, description="Pass it as `cursor`, all else the same, to go on.")

    def text(self) -> str:
        told = [message.told(in_thread=self.thread_ts is not None) for message in self.messages]
        return "\n\n".join([self._head(), *told, *self._foot()])

    def _head(self) -> str:
        there = counted(len(self.messages), "message", "messages") if self.messages else "No messages"
        where = f"in the thread {self.thread_ts} of {self.channel_id}" if self.thread_ts else f"in {self.channel_id}"
        order = ", oldest first" if self.thread_ts else ", newest first"
        return f"{there} {where}{order if len(self.messages) > 1 else ''}.{self._left_out()}"

    def _left_out(self) -> str:
        return f" {counted(self.notices, 'notice', 'notices')} of who came or went left out." if self.notices else ""

    def _foot(self) -> list[str]:
        links = ["Link to a message: " + self.messages[-1].url] if self.messages else []
        more = "newer" if self.thread_ts else "older"
        following = [f"There are {more} ones: ask again with cursor {self.next_cursor}"] if self.next_cursor else []
        return links + following


@dataclass(frozen=True, slots=True)
class Section:
    """What is asked for."""

    where: Address
    limit: int
    cursor: str | None = None
    oldest: str | None = None
    latest: str | None = None
    full: bool = False

    @property
    def of_slack(self) -> Json:
        """Both ends of a time belong to it; a message that has been shown does not."""
        shown = self._shown
        ends = {"oldest": self.oldest, "latest": self.latest}
        if shown:
            ends["oldest" if self.where.thread_ts else "latest"] = shown
        return {
            "channel": self.where.channel,
            "ts": self.where.thread_ts,
            "limit": min(self.limit, MOST_ASKED),
            "cursor": None if shown else self.cursor,
            **ends,
            "inclusive": None if shown or not (self.oldest or self.latest) else True,
        }

    @property
    def _shown(self) -> str | None:
        return self.cursor.removeprefix(SINCE) if self.cursor and self.cursor.startswith(SINCE) else None


async def read(api: SlackApi, place: Place, section: Section) -> History:
    method = "conversations.replies" if section.where.thread_ts else "conversations.history"
    page = await api.asked(method, **section.of_slack)
    there = [each for each in objects(page.get("messages")) if has_ts(each)]
    found = [each for each in there if not _is_shown_already(each, section)]
    spoken = [each for each in found if not is_notice(each)]
    people = People()
    for message in spoken:
        people.take(message)
    await people.learn(api, people_in(spoken))
    longest = max(LONGEST, ROOM // max(len(spoken), 1))
    channel, full = section.where.channel, section.full
    told = [message_of(each, channel, place, people, longest, full=full) for each in spoken]
    fitting = _fitting(told)
    return History(
        channel_id=channel,
        thread_ts=section.where.thread_ts,
        messages=told[:fitting],
        notices=len(found) - len(spoken) or None,
        next_cursor=_following(page, there, told, fitting),
    )


def _is_shown_already(message: Json, section: Section) -> bool:
    """Slack begins every page of a thread with the message that the thread hangs on."""
    return bool(section.cursor) and message.get("ts") == section.where.thread_ts


def _fitting(told: Sequence[Message]) -> int:
    """How many have room, one at least."""
    room = ROOM
    for count, message in enumerate(told):
        room -= len(message.text())
        if room < 0 and count:
            return count
    return len(told)


def _following(page: Json, there: Sequence[Json], told: Sequence[Message], fitting: int) -> str | None:
    if fitting < len(told):
        return SINCE + told[fitting - 1].ts
    if cursor := next_cursor(page):
        return cursor
    return f"{SINCE}{there[-1]['ts']}" if page.get("has_more") and there else None


async def thread_of(api: SlackApi, where: Address) -> Address:
    """That there is such a message, and the one that its thread hangs on. Slack takes replies to nothing, and nobody
    ever sees them.
    """
    page = await api.asked("conversations.replies", channel=where.channel, ts=where.thread_ts, limit=1)
    first = next(iter(objects(page.get("messages"))), {})
    return replace(where, thread_ts=str(first.get("thread_ts") or where.thread_ts))
