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
_IN_LINK = re.compile(r"p?([0-9]{10})(?:\.([0-9]{1,6})|([0-9]{6}))")
_OF_THREAD = re.compile(rf"({_ID.pattern})-(.+)")
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
        return _linked(text)
    if _ID.fullmatch(text):
        return _of_id(text)
    if name := _NAME.fullmatch(text):
        return MessageReference(f"#{name[1].lower()}")
    raise ValueError(NO_CHANNEL)


def read_ts(given: object) -> object:
    """A `ts` is text: a client that sends it as a number has dropped its trailing zeros, which are restored."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = digits(given)
    if not isinstance(given, str):
        return given
    text = given.strip()
    found = _message_linked(text) if "://" in text else plain_ts(text)
    if found is None:
        raise ValueError(NO_MESSAGE)
    return found


def digits(number: float) -> str:
    """Format a number as a `ts`; empty if it is out of range."""
    return f"{number:.6f}" if 0 < number < MOST_SECONDS else ""


def time_of(ts: str) -> str:
    """The time of a message in ISO 8601."""
    seconds = int(ts.partition(".")[0])
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _checked(text: str) -> str:
    parse_reference(text)
    return text


ChannelText = Annotated[str, AfterValidator(_checked)]
Ts = Annotated[str, BeforeValidator(read_ts)]


def _linked(url: str) -> MessageReference:
    """`/archives/C…/p…` of a workspace, or `/client/T…/C…` of the app."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValueError(NO_CHANNEL) from error
    steps = [step for step in parts.path.split("/") if step]
    number = next((number for number, step in enumerate(steps) if _ID.fullmatch(step)), None)
    if number is None or not f".{parts.hostname}".endswith(".slack.com"):
        raise ValueError(NO_CHANNEL)
    where = _of_id(steps[number])
    message = _behind(where.channel, [*steps[number + 1 :], *([parts.fragment] if parts.fragment else [])])
    asked = parse_qs(parts.query)
    named = next((asked[name][0] for name in ("thread_ts", "message_ts") if name in asked), None)
    thread = plain_ts(named or "") or message
    if named and thread is None:
        raise ValueError(NO_TAIL)
    return replace(where, thread_ts=thread)


def _behind(channel: str, steps: Sequence[str]) -> str | None:
    """The message after the channel in a link. If it were ignored, a reply would be posted in the channel."""
    match steps:
        case []:
            return None
        case ["thread", pair] if (of := _OF_THREAD.fullmatch(pair)) and of[1] == channel:
            message = plain_ts(of[2])
        case [step]:
            message = plain_ts(step)
        case _:
            message = None
    if message is None:
        raise ValueError(NO_TAIL)
    return message


def _message_linked(url: str) -> str | None:
    try:
        return _linked(url).thread_ts
    except ValueError:
        return None


def _of_id(text: str) -> MessageReference:
    if text[0] in "DUW":
        raise ValueError(NO_DIRECT)
    return MessageReference(text)


def plain_ts(text: str) -> str | None:
    """With the dot or, as in links, without it."""
    found = _IN_LINK.fullmatch(text)
    return f"{found[1]}.{(found[2] or found[3]).ljust(6, '0')}" if found else None
