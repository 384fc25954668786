"""The messages of a result: their fields, their text, and how many fit into one result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from pydantic import Field

from integrations.json_object import Json
from integrations.slack.client import SlackWorkspace
from integrations.slack.markup import content, mentioned_users, plain
from integrations.slack.references import TS, time_of
from integrations.slack.users import UserNames
from integrations.text import objects, one_line, shorten
from integrations.tool import Result

MAX_CHARACTERS = 40_000
"""Characters of one result."""
MAX_SHARED = 2000
"""Characters of a message that shares the room with others."""
OVERHEAD = 160
"""Characters around a message's content: time, sender, and how to read the rest."""
MAX_NAME_LENGTH = 200
MARKUP_FACTOR = 6
"""How many times longer a text may be with its markup."""
NOTICES = frozenset(
    {"bot_add", "bot_remove", "channel_join", "channel_leave", "group_join", "group_leave", "joined", "left"}
)


class Message(Result):
    ts: str = Field(description="Its ID in the channel; pass it as `threadTs` to reply to it.")
    time: str
    sender: str = Field(description="A name, or an ID if the connection may not read names.")
    sender_id: str | None = None
    content: str
    thread_ts: str | None = Field(default=None, description="The `ts` of the message that it replies to.")
    replies: int | None = Field(default=None, description="How many replies its thread has; read them with `threadTs`.")
    reactions: list[str] | None = None
    files: list[str] | None = None
    edited: bool | None = None
    url: str
    full: Json | None = Field(default=None, description="With `full`: Slack's own object.")

    def text(self) -> str:
        return self.to_text(in_thread=False)

    def to_text(self, *, in_thread: bool) -> str:
        """Inside a thread, the thread's `ts` is not repeated."""
        facts = [*self._facts(), *([f"reply in thread {self.thread_ts}"] if self.thread_ts and not in_thread else [])]
        lines = [
            f"[{self.time}] {self.sender}: {self._indented_content()}",
            f"  {' · '.join(facts)}",
            *as_json(self.full),
        ]
        return "\n".join(lines)

    def _indented_content(self) -> str:
        return "\n  ".join(self.content.splitlines()) or "(no text)"

    def _facts(self) -> Iterator[str]:
        yield f"ts {self.ts}"
        if self.replies:
            yield f"thread: {count_text(self.replies, 'reply', 'replies')}"
        if self.reactions:
            yield f"reactions: {', '.join(self.reactions)}"
        if self.files:
            yield f"files: {', '.join(self.files)}"
        if self.edited:
            yield "edited"


def is_notice(message: Json) -> bool:
    """Whether the message only records that a member joined or left."""
    return message.get("subtype") in NOTICES


def people_in(messages: Sequence[Json]) -> Iterator[str]:
    for message in messages:
        if isinstance(user := message.get("user"), str):
            yield user
        yield from mentioned_users(content(message)[:MAX_CHARACTERS])


def message_of(
    message: Json, channel: str, workspace: SlackWorkspace, people: UserNames, longest: int, *, full: bool
) -> Message:
    ts, thread_ts = str(message.get("ts")), str(message.get("thread_ts"))
    is_reply = bool(TS.fullmatch(thread_ts)) and thread_ts != ts
    sender_id = message.get("user") or message.get("bot_id")
    how_to_read = f'read it alone with `limit` 1 and `{"oldest" if is_reply else "latest"}` "{ts}"'
    return Message(
        ts=ts,
        time=time_of(ts),
        sender=_sender_name(message, people),
        sender_id=one_line(str(sender_id)) if sender_id else None,
        content=_cut(
            content(message), people, longest, how_to_read if longest < MAX_CHARACTERS else "read them in Slack"
        ),
        thread_ts=thread_ts if is_reply else None,
        replies=message.get("reply_count") or None,
        reactions=[
            _line(f"{reaction.get('name')} {reaction.get('count')}") for reaction in objects(message.get("reactions"))
        ]
        or None,
        files=[_file(file) for file in objects(message.get("files"))] or None,
        edited=True if message.get("edited") else None,
        url=workspace.link_to_reply(channel, ts, thread_ts) if is_reply else workspace.link(channel, ts),
        full=in_full(message) if full else None,
    )


def in_full(message: Json) -> Json:
    """Slack's own object; if it is longer than a result, only its short fields."""
    if len(json.dumps(message, ensure_ascii=False)) <= MAX_CHARACTERS:
        return message
    short = {name: value for name, value in message.items() if len(json.dumps(value, ensure_ascii=False)) <= MAX_SHARED}
    return {**short, "leftOut": [name for name in message if name not in short]}


def as_json(full: Json | None) -> list[str]:
    return [json.dumps(full, ensure_ascii=False, separators=(",", ":"))] if full else []


def longest_of(messages: Sequence[Json]) -> int:
    """Characters per message: room that short messages leave goes to long ones; a single message has all of ROOM."""
    lengths = sorted(len(content(message)) for message in messages)
    room = MAX_CHARACTERS - OVERHEAD * len(lengths) if len(lengths) > 1 else MAX_CHARACTERS
    for number, length in enumerate(lengths):
        share = room // (len(lengths) - number)
        if length > share:
            return max(share, MAX_SHARED)
        room -= length
    return MAX_CHARACTERS


def fitting(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages that fit, at least one. Later ones are not built."""
    room = MAX_CHARACTERS
    for count, message in enumerate(messages):
        room -= len(message.text())
        if room < 0 and count:
            return
        yield message


def count_text(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def has_ts(message: Json) -> bool:
    return bool(TS.fullmatch(str(message.get("ts"))))


def _sender_name(message: Json, people: UserNames) -> str:
    user = str(message.get("user") or "")
    profile = next(iter(objects([message.get("bot_profile")])), {})
    name = message.get("username") or people.name(user) or profile.get("name") or user or message.get("bot_id")
    return _line(str(name or "")) or "unknown"


def _file(file: Json) -> str:
    name = _line(str(file.get("title") or file.get("name") or file.get("id") or "")) or "a file"
    link = file.get("permalink")
    return f"{name} ({one_line(str(link))})" if link else name


def _line(text: str) -> str:
    """Keep a text from others within one line, so that it cannot imitate a line of ours."""
    return shorten(one_line(text), MAX_NAME_LENGTH)


def _cut(raw: str, people: UserNames, longest: int, rest: str) -> str:
    """Cut before the conversion to plain text too, which is slow for long texts."""
    text = plain(raw[: longest * MARKUP_FACTOR], people.name)
    if len(text) <= longest and len(raw) <= longest * MARKUP_FACTOR:
        return text
    missing = len(text[longest:]) + len(raw[longest * MARKUP_FACTOR :])
    return f"{text[:longest].rstrip()} [{missing:,} more characters: {rest}]"
