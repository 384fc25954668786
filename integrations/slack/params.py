"""The parameters of Slack's tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from integrations.paging import paging_aliases
from integrations.slack.markup import escape
from integrations.slack.references import ChannelText, Ts, parse_reference
from integrations.slack.timestamps import Beginning, End
from integrations.tool import Params

LONGEST_MARKDOWN = 12_000
LONGEST_TEXT = 40_000
"""Slack silently cuts longer texts."""

CURSOR = Field(
    default=None, max_length=500, description="`nextCursor` of the previous result, with the same other arguments."
)
FULL = Field(default=False, description="Also return each of Slack's own objects. Long.")
CHANNELS = ["C012AB3CD", "#support", "https://acme.slack.com/archives/C012AB3CD/p1763371860000200"]
ALSO_CHANNEL = {
    **dict.fromkeys(("channel", "channelname", "conversation", "conversationid", "id"), "channel_id"),
    **dict.fromkeys(("thread", "threadid", "ts", "messagets", "messageid", "parentts", "replyto"), "thread_ts"),
}


class ListChannels(Params):
    aliases: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("name", "search", "filter", "nameprefix", "q"), "query"),
        **dict.fromkeys(("memberonly", "onlyjoined", "ismember"), "joined"),
        "archived": "include_archived",
        **paging_aliases(cursor="cursor", size="limit"),
    }

    query: str | None = Field(
        default=None,
        description="Only channels whose name, topic or purpose contains all of these words.",
        examples=["incident"],
        max_length=200,
    )
    joined: bool = Field(default=False, description="Only channels that the bot is in, where it can read and post.")
    include_archived: bool = Field(default=False, description="Include archived channels.")
    limit: int = Field(default=100, ge=1, le=1000, description="Maximum number of channels; fewer if they are long.")
    cursor: str | None = CURSOR
    full: bool = FULL


class ReadHistory(Params):
    aliases: ClassVar[Mapping[str, str]] = {
        **ALSO_CHANNEL,
        **paging_aliases(cursor="cursor", size="limit"),
        **dict.fromkeys(("since", "after", "from", "start"), "oldest"),
        **dict.fromkeys(("until", "before", "to", "end"), "latest"),
    }

    channel_id: ChannelText = Field(
        description="ID, #name, or a link to the channel or to a message. A link to a message reads its thread.",
        examples=CHANNELS,
    )
    thread_ts: Ts | None = Field(
        default=None,
        description="Read the thread of this message: its `ts`, as text, or a link to it.",
        examples=["1763371860.000200"],
    )
    oldest: Beginning | None = Field(
        default=None,
        description="Only messages since then: a date, a time, a duration before now, or a message's `ts`. In UTC.",
        examples=["7d", "2026-01-31T09:00:00Z"],
    )
    latest: End | None = Field(
        default=None,
        description="Only messages until then; a date includes its whole day.",
        examples=["2026-01-31", "1763371860.000200"],
    )
    limit: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="Maximum number of messages. Slack may return fewer; some apps get at most 15.",
    )
    cursor: str | None = CURSOR
    full: bool = FULL


class PostMessage(Params):
    aliases: ClassVar[Mapping[str, str]] = {
        **{name: "channel" if of == "channel_id" else of for name, of in ALSO_CHANNEL.items() if name != "channel"},
        **dict.fromkeys(("channelid", "to"), "channel"),
        **dict.fromkeys(("message", "markdown", "markdowntext", "content", "body"), "text"),
        **dict.fromkeys(("replybroadcast", "broadcast"), "also_in_channel"),
    }

    channel: ChannelText = Field(
        description="ID, #name, or a link. With a link to a message, the post is a reply to it.", examples=CHANNELS
    )
    text: str = Field(min_length=1, description="Markdown, up to 12,000 characters, unless `format` says otherwise.")
    thread_ts: Ts | None = Field(
        default=None,
        description="Reply in the thread of this message: its `ts`, as text, or a link to it.",
        examples=["1763371860.000200"],
    )
    also_in_channel: bool = Field(default=False, description="Show the reply in the channel too.")
    format: Literal["markdown", "mrkdwn", "plain"] = Field(
        default="markdown",
        description="`mrkdwn`: Slack's own markup, for mentions such as <@U012AB3CD>. `plain`: exactly as written.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        most = LONGEST_MARKDOWN if self.format == "markdown" else LONGEST_TEXT
        length = len(escape(self.text) if self.format == "plain" else self.text)
        if length > most:
            raise ValueError(
                f"`text` has {length:,} characters, and a message has {most:,} at most: post the first part, "
                "then the rest as replies with its `threadTs`"
            )
        if self.also_in_channel and not (self.thread_ts or parse_reference(self.channel).thread_ts):
            raise ValueError("`alsoInChannel` is for replies: give `threadTs`, or leave it out")
        return self
