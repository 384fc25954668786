"""Finding a channel by its name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import replace

from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.similar_names import similar_names
from integrations.slack.channels import MOST_PAGES, ChannelQuery, arguments
from integrations.slack.client import SlackApi, SlackWorkspace, next_cursor
from integrations.slack.references import MessageReference
from integrations.text import objects

NOT_IN_ONE = (
    "The bot is not in a channel named #{name}.{similar} Check the name with `slack_list_channels`; if the channel "
    "exists, one of its members has to write `/invite @{bot}` in it."
)
TWO = "The bot is in {number} channels named #{name}: {ids}. Give the ID of the right one."
TOO_MANY = "The bot is in too many channels to search for #{name}: give the ID, which `slack_list_channels` returns."
MOST_SIMILAR = 5


async def resolve_channel(api: SlackApi, workspace: SlackWorkspace, where: MessageReference) -> MessageReference:
    """Replace a name by the ID of a channel that the bot is in; the bot can do nothing in any other.

    All channels are read, so that the match is certain. Previous names serve only for suggestions.
    """
    if where.name is None:
        return where
    seen = dict[str, Json]()
    try:
        async for channel in _joined(api, where.name):
            seen[str(channel.get("id"))] = channel
    except ToolFailed:
        if not any(each.get("name") == where.name and not each.get("is_archived") for each in seen.values()):
            raise
    found = _meant(where.name, seen.values())
    if not found:
        similar = _similar(where.name, _ever_called(seen.values()))
        raise ToolFailed("invalid_arguments", NOT_IN_ONE.format(name=where.name, bot=workspace.bot, similar=similar))
    if len(found) > 1:
        ids = ", ".join(f"{each.get('id')} ({'private' if each.get('is_private') else 'public'})" for each in found)
        raise ToolFailed("invalid_arguments", TWO.format(number=len(found), name=where.name, ids=ids))
    return replace(where, channel=str(found[0].get("id")))


def _meant(name: str, seen: Collection[Json]) -> list[Json]:
    """Exact names come before normalized names, and active channels before archived ones."""
    for field in ("name", "name_normalized"):
        called = [each for each in seen if each.get(field) == name]
        if called:
            return [each for each in called if not each.get("is_archived")] or called
    return []


def _ever_called(seen: Iterable[Json]) -> dict[str, str]:
    """Current names by all current and previous names."""
    known = dict[str, str]()
    for channel in seen:
        name = str(channel.get("name"))
        known |= dict.fromkeys([name, *map(str, channel.get("previous_names") or [])], f"#{name}")
    return known


async def _joined(api: SlackApi, name: str) -> AsyncIterator[Json]:
    search, cursor = ChannelQuery(limit=1, joined=True, archived=True), ""
    for _ in range(MOST_PAGES):
        page = await api.call_method("users.conversations", **arguments(search), cursor=cursor or None)
        for channel in objects(page.get("channels")):
            yield channel
        cursor = next_cursor(page)
        if not cursor:
            return
    raise ToolFailed("invalid_arguments", TOO_MANY.format(name=name))


def _similar(name: str, known: Mapping[str, str]) -> str:
    likely = sorted(known, key=lambda each: each[:2] != name[:2])
    near = [
        *similar_names(name, likely, limit=MOST_SIMILAR),
        *(each for each in known if name in each),
    ]
    found = list(dict.fromkeys(known[each] for each in near))[:MOST_SIMILAR]
    return f" Similar: {', '.join(found)}." if found else ""
