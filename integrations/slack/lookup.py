"""Finding a channel by its name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import replace

from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.similar_names import similar_names
from integrations.slack.channels import MAX_PAGES, ChannelQuery, arguments
from integrations.slack.client import SlackApi, SlackWorkspace, next_cursor
from integrations.slack.references import MessageReference
from integrations.text import objects

NOT_A_MEMBER = (
    "The bot is not in a channel named #{name}.{similar} Check the name with `slack_list_channels`; if the channel "
    "exists, one of its members has to write `/invite @{bot}` in it."
)
AMBIGUOUS = "The bot is in {number} channels named #{name}: {ids}. Give the ID of the right one."
TOO_MANY = "The bot is in too many channels to search for #{name}: give the ID, which `slack_list_channels` returns."
MOST_SIMILAR = 5


async def resolve_channel(api: SlackApi, workspace: SlackWorkspace, where: MessageReference) -> MessageReference:
    """Replace a name by the ID of a channel that the bot is in; the bot can do nothing in any other.

    All channels are read, so that the match is certain. Previous names serve only for suggestions.
    """
    if where.name is None:
        return where
    channels = dict[str, Json]()
    try:
        async for channel in _member_channels(api, where.name):
            channels[str(channel.get("id"))] = channel
    except ToolFailed:
        active = (channel for channel in channels.values() if not channel.get("is_archived"))
        if not any(channel.get("name") == where.name for channel in active):
            raise
    matches = _matching_channels(where.name, channels.values())
    if not matches:
        similar = _similar(where.name, _current_names(channels.values()))
        raise ToolFailed("invalid_arguments", NOT_A_MEMBER.format(name=where.name, bot=workspace.bot, similar=similar))
    if len(matches) > 1:
        ids = ", ".join(
            f"{match.get('id')} ({'private' if match.get('is_private') else 'public'})" for match in matches
        )
        raise ToolFailed("invalid_arguments", AMBIGUOUS.format(number=len(matches), name=where.name, ids=ids))
    return replace(where, channel=str(matches[0].get("id")))


def _matching_channels(name: str, channels: Collection[Json]) -> list[Json]:
    """Exact names come before normalized names, and active channels before archived ones."""
    for field in ("name", "name_normalized"):
        matches = [channel for channel in channels if channel.get(field) == name]
        if matches:
            return [channel for channel in matches if not channel.get("is_archived")] or matches
    return []


def _current_names(channels: Iterable[Json]) -> dict[str, str]:
    """Current names by all current and previous names."""
    current_names = dict[str, str]()
    for channel in channels:
        name = str(channel.get("name"))
        current_names |= dict.fromkeys([name, *map(str, channel.get("previous_names") or [])], f"#{name}")
    return current_names


async def _member_channels(api: SlackApi, name: str) -> AsyncIterator[Json]:
    search, cursor = ChannelQuery(limit=1, joined=True, archived=True), ""
    for _ in range(MAX_PAGES):
        page = await api.call_method("users.conversations", **arguments(search), cursor=cursor or None)
        for channel in objects(page.get("channels")):
            yield channel
        cursor = next_cursor(page)
        if not cursor:
            return
    raise ToolFailed("invalid_arguments", TOO_MANY.format(name=name))


def _similar(name: str, current_names: Mapping[str, str]) -> str:
    likely = sorted(current_names, key=lambda candidate: candidate[:2] != name[:2])
    near = [
        *similar_names(name, likely, limit=MOST_SIMILAR),
        *(candidate for candidate in current_names if name in candidate),
    ]
    similar = list(dict.fromkeys(current_names[candidate] for candidate in near))[:MOST_SIMILAR]
    return f" Similar: {', '.join(similar)}." if similar else ""
