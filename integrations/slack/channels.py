"""Listing and searching the channels of a workspace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.slack.client import BOTH_KINDS, MOST_AT_ONCE, SlackApi, SlackWorkspace, next_cursor
from integrations.slack.cursors import NOT_OURS
from integrations.slack.markup import plain
from integrations.slack.results import as_json, counted, in_full
from integrations.text import more_follow, objects, one_line
from integrations.tool import Result

MOST_PAGES = 8
"""Per call: Slack allows about twenty requests a minute for this list."""
LONGEST = 250
ROOM = 35_000
"""Characters of one result."""
UNSEEN = "A private channel is listed only after one of its members has written `/invite @{bot}` in it."
BETWEEN = "~"
"""Separates Slack's cursor from the number of that page's channels already returned."""
_NUMBER = re.compile("[0-9]{1,6}")


class Channel(Result):
    id: str
    name: str
    is_private: bool
    is_member: bool = Field(description="Whether the bot is in the channel; only then can it read or post there.")
    is_archived: bool | None = None
    members: int | None = None
    topic: str | None = None
    purpose: str | None = None
    url: str
    full: Json | None = Field(default=None, description="With `full`: Slack's own object.")

    def text(self) -> str:
        about = " — ".join(filter(None, (self.topic, self.purpose)))
        told = f"#{self.name} ({self.id}): {', '.join(self._facts())}{f'. {about}' if about else ''}"
        return "\n".join([told, *as_json(self.full)])

    def _facts(self) -> Iterator[str]:
        yield "private" if self.is_private else "public"
        yield "the bot is in it" if self.is_member else "the bot is not in it"
        if self.is_archived:
            yield "archived"
        if self.members is not None:
            yield counted(self.members, "member", "members")


class ChannelPage(Result):
    channels: list[Channel]
    next_cursor: str | None = Field(
        default=None, description="For the next page, pass it as `cursor` with the same arguments."
    )
    hint: str | None = None

    def text(self) -> str:
        following = ", and more follow" if self.next_cursor else ""
        head = f"{counted(len(self.channels), 'channel', 'channels')}{following}." if self.channels else ""
        link = [f"Link to a channel: {each.url.removesuffix(each.id)}<ID>" for each in self.channels[-1:]]
        more = [more_follow("cursor", self.next_cursor)] if self.next_cursor else []
        lines = [each.text() for each in self.channels]
        return "\n".join(each for each in (head, self.hint, *lines, *link, *more) if each)


@dataclass(frozen=True, slots=True)
class ChannelQuery:
    limit: int
    cursor: str | None = None
    query: str | None = None
    joined: bool = False
    archived: bool = False
    full: bool = False

    def wants(self, channel: Json) -> bool:
        """Whether the name, a previous name, the topic or the purpose has all words of the query."""
        if not self.query:
            return True
        texts = [channel.get("name"), *(channel.get("previous_names") or []), _value(channel, "topic")]
        words = " ".join(str(each) for each in (*texts, _value(channel, "purpose")) if each).lower()
        return all(word in words for word in self.query.lower().lstrip("#").split())


class _PageBuilder:
    """Collects channels for one result until it is full."""

    def __init__(self, workspace: SlackWorkspace, search: ChannelQuery) -> None:
        self.channels: list[Channel] = []
        self._workspace = workspace
        self._search = search
        self._room = ROOM

    def take(self, page: list[Json], begin: int) -> int | None:
        """Return the index of the first channel in the page that does not fit."""
        for number, found in enumerate(page[begin:], begin):
            if self._search.wants(found) and not self._has_taken(_channel(found, self._workspace, self._search)):
                return number
        return None

    def _has_taken(self, channel: Channel) -> bool:
        self._room -= len(channel.text())
        if len(self.channels) == self._search.limit or (self._room < 0 and self.channels):
            return False
        self.channels.append(channel)
        return True


async def list_channels(api: SlackApi, workspace: SlackWorkspace, search: ChannelQuery) -> ChannelPage:
    """One of our pages may be part of a page of Slack's, or span several if few channels match."""
    shown = _PageBuilder(workspace, search)
    cursor, begin = _opened(search.cursor)
    for number in range(MOST_PAGES):
        page = await _page(api, search, cursor, is_first=number == 0)
        if page is None:
            break
        full_at = shown.take(objects(page.get("channels")), begin)
        if full_at is not None:
            return ChannelPage(channels=shown.channels, next_cursor=f"{cursor}{BETWEEN}{full_at}")
        cursor, begin = next_cursor(page), 0
        if not cursor:
            break
    return ChannelPage(
        channels=shown.channels, next_cursor=cursor or None, hint=_hint(search, shown.channels, cursor, workspace)
    )


async def _page(api: SlackApi, search: ChannelQuery, cursor: str, *, is_first: bool) -> Json | None:
    """Return None if Slack's rate limit stops the call after the first page."""
    method = "users.conversations" if search.joined else "conversations.list"
    try:
        return await api.call_method(method, **arguments(search), cursor=cursor or None)
    except ToolFailed as failed:
        if failed.kind != "rate_limited" or is_first:
            raise
        return None


def arguments(search: ChannelQuery) -> Json:
    """Sent with every page, because Slack's cursor does not keep them."""
    return {"types": BOTH_KINDS, "exclude_archived": not search.archived, "limit": MOST_AT_ONCE}


def _opened(cursor: str | None) -> tuple[str, int]:
    slacks, between, shown = (cursor or "").rpartition(BETWEEN)
    if not between:
        return cursor or "", 0
    if not _NUMBER.fullmatch(shown):
        raise ToolFailed("invalid_arguments", NOT_OURS)
    return slacks, int(shown)


def _channel(found: Json, workspace: SlackWorkspace, search: ChannelQuery) -> Channel:
    return Channel(
        id=str(found.get("id")),
        name=one_line(str(found.get("name"))),
        is_private=bool(found.get("is_private")),
        is_member=bool(found.get("is_member", search.joined)),
        is_archived=True if found.get("is_archived") else None,
        members=found.get("num_members"),
        topic=_value(found, "topic"),
        purpose=_value(found, "purpose"),
        url=workspace.link(str(found.get("id"))),
        full=in_full(found) if search.full else None,
    )


def _value(found: Json, name: str) -> str | None:
    value = plain(str((found.get(name) or {}).get("value") or ""), lambda _: None)
    return one_line(value)[:LONGEST] or None


def _hint(search: ChannelQuery, found: list[Channel], cursor: str, workspace: SlackWorkspace) -> str | None:
    if found:
        return None
    if cursor:
        return "No channel matches so far."
    if search.query:
        return f"No channel's name, topic or purpose contains {search.query!r}. {UNSEEN.format(bot=workspace.bot)}"
    return (
        f"The bot is not in any channel. {UNSEEN.format(bot=workspace.bot)}"
        if search.joined
        else "There are no channels."
    )
