"""Listing and searching the channels of a workspace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.slack.client import CHANNEL_TYPES, MAX_PAGE_SIZE, SlackApi, SlackWorkspace, next_cursor
from integrations.slack.cursors import FOREIGN_CURSOR
from integrations.slack.markup import plain
from integrations.slack.results import as_json, count_text, in_full
from integrations.text import more_follow, objects, one_line
from integrations.tool import Result

MAX_PAGES = 8
"""Per call: Slack allows about twenty requests a minute for this list."""
MAX_ABOUT_LENGTH = 250
ROOM = 35_000
"""Characters of one result."""
UNLISTED_HINT = "A private channel is listed only after one of its members has written `/invite @{bot}` in it."
CURSOR_SEPARATOR = "~"
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
        description = " — ".join(filter(None, (self.topic, self.purpose)))
        line = f"#{self.name} ({self.id}): {', '.join(self._facts())}{f'. {description}' if description else ''}"
        return "\n".join([line, *as_json(self.full)])

    def _facts(self) -> Iterator[str]:
        yield "private" if self.is_private else "public"
        yield "the bot is in it" if self.is_member else "the bot is not in it"
        if self.is_archived:
            yield "archived"
        if self.members is not None:
            yield count_text(self.members, "member", "members")


class ChannelPage(Result):
    channels: list[Channel]
    next_cursor: str | None = Field(
        default=None, description="For the next page, pass it as `cursor` with the same arguments."
    )
    hint: str | None = None

    def text(self) -> str:
        suffix = ", and more follow" if self.next_cursor else ""
        head = f"{count_text(len(self.channels), 'channel', 'channels')}{suffix}." if self.channels else ""
        link = [f"Link to a channel: {channel.url.removesuffix(channel.id)}<ID>" for channel in self.channels[-1:]]
        next_note = [more_follow("cursor", self.next_cursor)] if self.next_cursor else []
        lines = [channel.text() for channel in self.channels]
        return "\n".join(line for line in (head, self.hint, *lines, *link, *next_note) if line)


@dataclass(frozen=True, slots=True)
class ChannelQuery:
    limit: int
    cursor: str | None = None
    query: str | None = None
    joined: bool = False
    archived: bool = False
    full: bool = False

    def matches(self, channel: Json) -> bool:
        """Whether the name, a previous name, the topic or the purpose has all words of the query."""
        if not self.query:
            return True
        texts = [channel.get("name"), *(channel.get("previous_names") or []), _value(channel, "topic")]
        words = " ".join(str(text) for text in (*texts, _value(channel, "purpose")) if text).lower()
        return all(word in words for word in self.query.lower().lstrip("#").split())


class _PageBuilder:
    """Collects channels for one result until it is full."""

    def __init__(self, workspace: SlackWorkspace, search: ChannelQuery) -> None:
        self.channels: list[Channel] = []
        self._workspace = workspace
        self._search = search
        self._room = ROOM

    def take(self, page: list[Json], start: int) -> int | None:
        """Return the index of the first channel in the page that does not fit."""
        for index, channel in enumerate(page[start:], start):
            if self._search.matches(channel) and not self._add(_channel(channel, self._workspace, self._search)):
                return index
        return None

    def _add(self, channel: Channel) -> bool:
        self._room -= len(channel.text())
        if len(self.channels) == self._search.limit or (self._room < 0 and self.channels):
            return False
        self.channels.append(channel)
        return True


async def list_channels(api: SlackApi, workspace: SlackWorkspace, search: ChannelQuery) -> ChannelPage:
    """One of our pages may be part of a page of Slack's, or span several if few channels match."""
    builder = _PageBuilder(workspace, search)
    cursor, start = _parse_cursor(search.cursor)
    for number in range(MAX_PAGES):
        page = await _page(api, search, cursor, is_first=number == 0)
        if page is None:
            break
        full_at = builder.take(objects(page.get("channels")), start)
        if full_at is not None:
            return ChannelPage(channels=builder.channels, next_cursor=f"{cursor}{CURSOR_SEPARATOR}{full_at}")
        cursor, start = next_cursor(page), 0
        if not cursor:
            break
    return ChannelPage(
        channels=builder.channels, next_cursor=cursor or None, hint=_hint(search, builder.channels, cursor, workspace)
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
    return {"types": CHANNEL_TYPES, "exclude_archived": not search.archived, "limit": MAX_PAGE_SIZE}


def _parse_cursor(cursor: str | None) -> tuple[str, int]:
    slack_cursor, separator, start = (cursor or "").rpartition(CURSOR_SEPARATOR)
    if not separator:
        return cursor or "", 0
    if not _NUMBER.fullmatch(start):
        raise ToolFailed("invalid_arguments", FOREIGN_CURSOR)
    return slack_cursor, int(start)


def _channel(channel: Json, workspace: SlackWorkspace, search: ChannelQuery) -> Channel:
    return Channel(
        id=str(channel.get("id")),
        name=one_line(str(channel.get("name"))),
        is_private=bool(channel.get("is_private")),
        is_member=bool(channel.get("is_member", search.joined)),
        is_archived=True if channel.get("is_archived") else None,
        members=channel.get("num_members"),
        topic=_value(channel, "topic"),
        purpose=_value(channel, "purpose"),
        url=workspace.link(str(channel.get("id"))),
        full=in_full(channel) if search.full else None,
    )


def _value(channel: Json, name: str) -> str | None:
    value = plain(str((channel.get(name) or {}).get("value") or ""), lambda _: None)
    return one_line(value)[:MAX_ABOUT_LENGTH] or None


def _hint(search: ChannelQuery, channels: list[Channel], cursor: str, workspace: SlackWorkspace) -> str | None:
    if channels:
        return None
    if cursor:
        return "No channel matches so far."
    if search.query:
        return (
            f"No channel's name, topic or purpose contains {search.query!r}. {UNLISTED_HINT.format(bot=workspace.bot)}"
        )
    return (
        f"The bot is not in any channel. {UNLISTED_HINT.format(bot=workspace.bot)}"
        if search.joined
        else "There are no channels."
    )
