"""Parsing of references to channels and messages: IDs, names, mentions, links and timestamps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, BeforeValidator

_ID = re.compile(r"[CGDUW][A-Z0-9]{7,30}")
_MENTION = re.compile(r"<[#@]([A-Z0-9]+)(?:\|[^>]*)?>")
_NAME = re.compile(r"#?([\w.-]{1,80})")
TS = re.compile(r"([0-9]{10})\.([0-9]{1,6})")
_LINK_TS = re.compile(r"p?([0-9]{10})(?:\.([0-9]{1,6})|([0-9]{6}))")
_THREAD_PAIR = re.compile(rf"({_ID.pattern})-(.+)")
MOST_SECONDS = 10**10
NO_CHANNEL = "must be a channel's ID such as C012AB3CD, its #name, or a link to it"
NO_DIRECT = "must be a channel: this server does not read or write direct messages"
NO_TAIL = (
    "must be a link to a channel, or to a message such as /C012AB3CD/p1763371860000200; "
    "the part after the channel in this link is not a message"
)
NO_MESSAGE = "must be a message's `ts` such as 1763371860.000200, as text, or a link to the message"


@dataclass(frozen=True, slots=True)
class MessageReference:
    """`channel` is an ID, or `#` and a name."""

    channel: str
    thread_ts: str | None = None

    @property
    def name(self) -> str | None:
        return self.channel[1:] if self.channel.startswith("#") else None


def parse_reference(text: str) -> MessageReference:
    text = text.strip()
    if mention := _MENTION.fullmatch(text):
        text = mention[1]
    if "://" in text:
        return _parse_link(text)
    if _ID.fullmatch(text):
        return _channel_reference(text)
    if name := _NAME.fullmatch(text):
        return MessageReference(f"#{name[1].lower()}")
    raise ValueError(NO_CHANNEL)


def read_ts(value: object) -> object:
    """A `ts` is text: a client that sends it as a number has dropped its trailing zeros, which are restored."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = digits(value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    ts = _linked_ts(text) if "://" in text else plain_ts(text)
    if ts is None:
        raise ValueError(NO_MESSAGE)
    return ts


def digits(number: float) -> str:
    """Format a number as a `ts`; empty if it is out of range."""
    return f"{number:.6f}" if 0 < number < MOST_SECONDS else ""


def time_of(ts: str) -> str:
    """The time of a message in ISO 8601."""
    seconds = int(ts.partition(".")[0])
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _validate(text: str) -> str:
    parse_reference(text)
    return text


ChannelText = Annotated[str, AfterValidator(_validate)]
Ts = Annotated[str, BeforeValidator(read_ts)]


def _parse_link(url: str) -> MessageReference:
    """`/archives/C…/p…` of a workspace, or `/client/T…/C…` of the app."""
    try:
        link = urlsplit(url)
    except ValueError as error:
        raise ValueError(NO_CHANNEL) from error
    steps = [step for step in link.path.split("/") if step]
    number = next((number for number, step in enumerate(steps) if _ID.fullmatch(step)), None)
    if number is None or not f".{link.hostname}".endswith(".slack.com"):
        raise ValueError(NO_CHANNEL)
    where = _channel_reference(steps[number])
    fragment = [link.fragment] if link.fragment else []
    message = _message_in_link(where.channel, [*steps[number + 1 :], *fragment])
    query = parse_qs(link.query)
    ts = next((query[name][0] for name in ("thread_ts", "message_ts") if name in query), None)
    thread = plain_ts(ts or "") or message
    if ts and thread is None:
        raise ValueError(NO_TAIL)
    return replace(where, thread_ts=thread)


def _message_in_link(channel: str, steps: Sequence[str]) -> str | None:
    """The message after the channel in a link. If it were ignored, a reply would be posted in the channel."""
    match steps:
        case []:
            return None
        case ["thread", pair] if (match := _THREAD_PAIR.fullmatch(pair)) and match[1] == channel:
            message = plain_ts(match[2])
        case [step]:
            message = plain_ts(step)
        case _:
            message = None
    if message is None:
        raise ValueError(NO_TAIL)
    return message


def _linked_ts(url: str) -> str | None:
    try:
        return _parse_link(url).thread_ts
    except ValueError:
        return None


def _channel_reference(text: str) -> MessageReference:
    if text[0] in "DUW":
        raise ValueError(NO_DIRECT)
    return MessageReference(text)


def plain_ts(text: str) -> str | None:
    """Parse a `ts` with the dot or, as in links, without it."""
    match = _LINK_TS.fullmatch(text)
    return f"{match[1]}.{(match[2] or match[3]).ljust(6, '0')}" if match else None
