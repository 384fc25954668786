"""The client of Slack's Web API. Each request calls one method, and `ok` in the body says whether it succeeded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from integrations.json_object import Json
from integrations.service_client import RateLimited, Reply, ServerTrouble, ServiceClient, Verdict
from integrations.slack.errors import LOOK_FIRST, verdict_of

MAX_PAGE_SIZE = 200
"""Slack advises against larger pages."""
CHANNEL_TYPES = "public_channel,private_channel"
WITH_CHARSET = {"Content-Type": "application/json; charset=utf-8"}
"""Without it, Slack adds a warning to every response."""


@dataclass(frozen=True, slots=True)
class SlackWorkspace:
    """The workspace in which the app is installed, and the bot's name there."""

    url: str
    bot: str

    def link(self, channel: str, ts: str | None = None) -> str:
        at = f"/p{ts.replace('.', '')}" if ts else ""
        return f"{self.url.rstrip('/')}/archives/{channel}{at}"

    def link_to_reply(self, channel: str, ts: str, thread_ts: str) -> str:
        return f"{self.link(channel, ts)}?thread_ts={thread_ts}&cid={channel}"


class SlackApi(ServiceClient):
    bot = "the-bot"
    """The bot's name for `/invite`, once known."""
    scopes: frozenset[str] | None = None
    """The token's scopes, once a response has named them."""
    error = ""
    """Slack's error code for the last failed request."""
    has_posted = False
    """Whether a message may have reached Slack."""
    now: datetime | None = None
    """Slack's clock, from the `Date` header of a response."""

    def verdict(self, reply: Reply) -> Verdict:
        if reply.status == HTTPStatus.TOO_MANY_REQUESTS:
            return RateLimited(_seconds(reply.headers.get("retry-after")))
        self.now = _parse_date(reply.headers.get("date", "")) or self.now
        body = reply.body
        if not isinstance(body, dict) or not isinstance(body.get("ok"), bool):
            is_down = reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR
            return ServerTrouble(
                self.unavailable_text(reply) if is_down else self.unexpected_response_text(reply),
                if_maybe_applied=LOOK_FIRST,
            )
        if (scopes := reply.headers.get("x-oauth-scopes")) is not None:
            self.scopes = frozenset(scope.strip() for scope in scopes.split(","))
        if body["ok"]:
            return None
        self.error = str(body.get("error") or "")
        return verdict_of(body, self.bot)

    async def call_method(self, method: str, **arguments: object) -> Json:
        """Call a method that changes nothing. Arguments that are None are not sent."""
        response: Json = await self.get(f"/api/{method}", arguments)
        return response

    async def post_message(self, message: Json) -> Json:
        self.has_posted = True
        response: Json = await self.request(
            "POST", "/api/chat.postMessage", body=message, headers=WITH_CHARSET, if_lost=LOOK_FIRST
        )
        return response

    async def workspace(self) -> SlackWorkspace:
        """Called first, because links and error texts need its response."""
        response = await self.call_method("auth.test")
        self.bot = str(response.get("user") or self.bot)
        return SlackWorkspace(str(response.get("url") or "https://slack.com/"), self.bot)

    def has_scope(self, scope: str) -> bool:
        """Whether the token has a scope; True if its scopes are unknown."""
        return self.scopes is None or scope in self.scopes

    def seconds_left(self) -> float:
        return self._http.seconds_left()


def next_cursor(page: Json) -> str:
    return str((page.get("response_metadata") or {}).get("next_cursor") or "")


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() else None


def _parse_date(date: str) -> datetime | None:
    try:
        return parsedate_to_datetime(date).astimezone(UTC)
    except ValueError:
        return None
