"""The messages of a result: their fields, their text, and how many fit into one result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from pydantic import Field

from integrations.json_object import Json
from integrations.slack.client import SlackWorkspace
from integrations.slack.markup import content, mentioned, plain
from integrations.slack.references import TS, time_of
from integrations.slack.users import UserNames
from integrations.text import objects, one_line, shortened
from integrations.tool import Result

ROOM = 40_000
"""Characters of one result."""
LONGEST = 2000
"""Characters of a message that shares the room with others."""
AROUND = 160
"""Characters around a message's content: time, sender, and how to read the rest."""
LONGEST_NAME = 200
MARKUP = 6
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
        return self.told(in_thread=False)

    def told(self, *, in_thread: bool) -> str:
        """Inside a thread, the thread's `ts` is not repeated."""
        facts = [*self._facts(), *([f"reply in thread {self.thread_ts}"] if self.thread_ts and not in_thread else [])]
        lines = [f"[{self.time}] {self.sender}: {self._indented()}", f"  {' · '.join(facts)}", *as_json(self.full)]
        return "\n".join(lines)

    def _indented(self) -> str:
        return "\n  ".join(self.content.splitlines()) or "(no text)"

    def _facts(self) -> Iterator[str]:
        yield f"ts {self.ts}"
        if self.replies:
            yield f"thread: {counted(self.replies, 'reply', 'replies')}"
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
        yield from mentioned(content(message)[:ROOM])


def message_of(
    found: Json, channel: str, workspace: SlackWorkspace, people: UserNames, longest: int, *, full: bool
) -> Message:
    ts, thread_ts = str(found.get("ts")), str(found.get("thread_ts"))
    is_reply = bool(TS.fullmatch(thread_ts)) and thread_ts != ts
    sender_id = found.get("user") or found.get("bot_id")
    alone = f'read it alone with `limit` 1 and `{"oldest" if is_reply else "latest"}` "{ts}"'
    return Message(
        ts=ts,
        time=time_of(ts),
        sender=_sender(found, people),
        sender_id=one_line(str(sender_id)) if sender_id else None,
        content=_cut(content(found), people, longest, alone if longest < ROOM else "read them in Slack"),
        thread_ts=thread_ts if is_reply else None,
        replies=found.get("reply_count") or None,
        reactions=[_line(f"{each.get('name')} {each.get('count')}") for each in objects(found.get("reactions"))]
        or None,
        files=[_file(each) for each in objects(found.get("files"))] or None,
        edited=True if found.get("edited") else None,
        url=workspace.link_to_reply(channel, ts, thread_ts) if is_reply else workspace.link(channel, ts),
        full=in_full(found) if full else None,
    )


def in_full(found: Json) -> Json:
    """Slack's own object; if it is longer than a result, only its short fields."""
    if len(json.dumps(found, ensure_ascii=False)) <= ROOM:
        return found
    short = {name: each for name, each in found.items() if len(json.dumps(each, ensure_ascii=False)) <= LONGEST}
    return {**short, "leftOut": [name for name in found if name not in short]}


def as_json(full: Json | None) -> list[str]:
    return [json.dumps(full, ensure_ascii=False, separators=(",", ":"))] if full else []


def longest_of(messages: Sequence[Json]) -> int:
    """Characters per message: room that short messages leave goes to long ones; a single message has all of ROOM."""
    lengths = sorted(len(content(each)) for each in messages)
    room = ROOM - AROUND * len(lengths) if len(lengths) > 1 else ROOM
    for number, length in enumerate(lengths):
        share = room // (len(lengths) - number)
        if length > share:
            return max(share, LONGEST)
        room -= length
    return ROOM


def fitting(told: Iterable[Message]) -> Iterator[Message]:
    """The messages that fit, at least one. Later ones are not built."""
    room = ROOM
    for count, message in enumerate(told):
        room -= len(message.text())
        if room < 0 and count:
            return
        yield message


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def has_ts(found: Json) -> bool:
    return bool(TS.fullmatch(str(found.get("ts"))))


def _sender(found: Json, people: UserNames) -> str:
    person = str(found.get("user") or "")
    profile = next(iter(objects([found.get("bot_profile")])), {})
    named = found.get("username") or people.name(person) or profile.get("name") or person or found.get("bot_id")
    return _line(str(named or "")) or "unknown"


def _file(found: Json) -> str:
    name = _line(str(found.get("title") or found.get("name") or found.get("id") or "")) or "a file"
    link = found.get("permalink")
    return f"{name} ({one_line(str(link))})" if link else name


def _line(text: str) -> str:
    """Keep a text from others within one line, so that it cannot imitate a line of ours."""
    return shortened(one_line(text), LONGEST_NAME)


def _cut(raw: str, people: UserNames, longest: int, rest: str) -> str:
    """Cut before the conversion to plain text too, which is slow for long texts."""
    text = plain(raw[: longest * MARKUP], people.name)
    if len(text) <= longest and len(raw) <= longest * MARKUP:
        return text
    missing = len(text[longest:]) + len(raw[longest * MARKUP :])
    return f"{text[:longest].rstrip()} [{missing:,} more characters: {rest}]"
