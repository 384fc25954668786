"""The result of a post. After a failure it says that nothing was posted, or how to find out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import Field

from integrations.errors import UnreadableResponse
from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.slack.client import SlackApi, SlackWorkspace
from integrations.slack.errors import LOOK_FIRST
from integrations.slack.references import MessageReference
from integrations.text import shorten
from integrations.tool import Result

NOTHING_POSTED = "Nothing was posted."
UNREADABLE = "Slack's response could not be read. Try again later."
MAX_SHOWN = 300
REPORT_SECONDS = 0.2
"""Seconds reserved to report the failure before the caller's deadline."""


class PostedMessage(Result):
    channel: str
    ts: str = Field(description="Its ID; pass it as `threadTs` to reply to it.")
    thread_ts: str | None = None
    message: str | None = Field(default=None, description="The beginning of the text that Slack accepted.")
    url: str

    def text(self) -> str:
        where = f"in the thread {self.thread_ts} of {self.channel}" if self.thread_ts else f"in {self.channel}"
        reply = f'To reply in its thread: `threadTs` "{self.thread_ts or self.ts}".'
        return f"Posted {where}: {self.url}" + (f"\nts {self.ts}. {reply}" if self.ts else "")


@asynccontextmanager
async def explained_failures(api: SlackApi) -> AsyncIterator[None]:
    """Add to each failure whether the message was posted, unless its text already says so."""
    try:
        async with asyncio.timeout(max(api.seconds_left() - REPORT_SECONDS, 0.0)):
            yield
    except TimeoutError as error:
        outcome = LOOK_FIRST if api.has_posted else NOTHING_POSTED
        raise ToolFailed("timeout", f"Slack did not answer in time. {outcome}") from error
    except UnreadableResponse as error:
        raise ToolFailed("upstream_unavailable", f"{UNREADABLE} {NOTHING_POSTED}") from error
    except ToolFailed as failed:
        if failed.kind in ("upstream_refused", "invalid_arguments") or LOOK_FIRST in failed.text:
            raise
        raise failed.with_text(f"{failed.text} {NOTHING_POSTED}") from failed


def posted_message(response: Json, workspace: SlackWorkspace, where: MessageReference) -> PostedMessage:
    """The message is posted even if the response lacks fields."""
    channel, ts = str(response.get("channel") or where.channel), str(response.get("ts") or "")
    match response:
        case {"message": {"text": str(text)}}:
            pass
        case _:
            text = ""
    thread = where.thread_ts
    url = workspace.link_to_reply(channel, ts, thread) if ts and thread else workspace.link(channel, ts or None)
    return PostedMessage(channel=channel, ts=ts, thread_ts=thread, message=shorten(text, MAX_SHOWN) or None, url=url)
