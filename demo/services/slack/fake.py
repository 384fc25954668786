"""A fake of Slack's Web API with a small workspace; it reproduces Slack's validation and quirks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from demo.oauth_provider.http import Request, Response, json_response
from demo.oauth_provider.model import Token
from demo.oauth_provider.tenant import Tenant
from demo.services.slack.calls import (
    Method,
    SlackError,
    parse_cursor,
    parse_flag,
    parse_limit,
    parse_text,
    parse_types,
    rate_limited,
    slice_page,
    timestamp_parser,
)
from demo.services.slack.data import BOT, MONDAY, NEWS, PEOPLE, channels, messages

Json = dict[str, Any]
Behaviour = Callable[[Callable[[], Response]], Response]
"""Replaces or changes the response to a call."""

PAGE = {"limit": parse_limit, "cursor": parse_cursor}
LISTING = {**PAGE, "types": parse_types, "exclude_archived": parse_flag, "team_id": parse_text}
TIMES = {
    "oldest": timestamp_parser("invalid_ts_oldest"),
    "latest": timestamp_parser("invalid_ts_latest"),
    "inclusive": parse_flag,
}
READING = {**PAGE, **TIMES, "channel": parse_text, "include_all_metadata": parse_flag}
POST = {
    **dict.fromkeys(("channel", "text", "markdown_text"), parse_text),
    **dict.fromkeys(("mrkdwn", "reply_broadcast", "unfurl_links", "unfurl_media"), parse_flag),
    "thread_ts": timestamp_parser("invalid_thread_ts"),
}
MAX_MARKDOWN = 12_000


class FakeSlack:
    def __init__(self, tenant: Tenant) -> None:
        self.channels = channels()
        self.messages = messages()
        self.posted: list[Json] = []
        """All posted messages, including replies that no list shows."""
        self.is_marketplace_app = True
        """Commercial apps outside the marketplace get at most 15 messages."""
        self.sends_scopes = True
        self._tenant = tenant
        self._next: dict[str, list[Behaviour]] = {}
        self._now = MONDAY + 30 * 3600
        self._methods = {
            "conversations.list": Method(self._list_channels, LISTING),
            "users.conversations": Method(self._list_joined, {**LISTING, "user": parse_text}),
            "conversations.history": Method(self._history, READING),
            "conversations.replies": Method(self._replies, {**READING, "ts": timestamp_parser("invalid_arguments")}),
            "users.info": Method(self._person, {"user": parse_text, "include_locale": parse_flag}),
            "chat.postMessage": Method(self._post, POST, writes=True),
        }

    def rate_limit(self, method: str, seconds: int, times: int = 1) -> None:
        """Rate limits the next calls."""
        self.on_next(method, *[lambda _: rate_limited(seconds)] * times)

    def inject_error(self, method: str, error: str, *, done: bool = False, times: int = 1, **more: object) -> None:
        """Answers the next calls with an error of Slack; `done`: the call is executed nevertheless."""

        def refused(work: Callable[[], Response]) -> Response:
            if done:
                work()
            return json_response({"ok": False, "error": error, **more})

        self.on_next(method, *[refused] * times)

    def on_next(self, method: str, *happens: Behaviour) -> None:
        self._next.setdefault(method, []).extend(happens)

    def visible_channel(self, id: str) -> Json:  # noqa: A002  Slack's word
        """A channel that the bot can see: private channels only if it is a member."""
        match = next((channel for channel in self.channels if id in (channel["id"], f"#{channel['name']}")), None)
        if match is None or (match["is_private"] and not match["is_member"]):
            raise SlackError("channel_not_found")
        return match

    def respond(self, request: Request) -> Response:
        name = request.path.removeprefix("/api/")
        method = self._methods.get(name)
        if method is None:
            return json_response({"ok": False, "error": "unknown_method", "req_method": name})
        waiting = self._next.get(name)
        happens = waiting.pop(0) if waiting else None
        return happens(lambda: self._call(method, request)) if happens else self._call(method, request)

    def _call(self, method: Method, request: Request) -> Response:
        token = self._tenant.grants.valid_token(request.bearer)
        if token is None:
            words = {"unknown": "invalid_auth", "revoked": "token_revoked", "expired": "token_expired"}
            condition = self._tenant.grants.condition(request.bearer)
            return json_response({"ok": False, "error": words[condition] if request.bearer else "not_authed"})
        text = {"X_OAuth_Scopes": ",".join(token.family.scopes)} if self.sends_scopes else {}
        if request.method not in (("POST",) if method.writes else ("GET", "POST")):
            return json_response({"ok": False, "error": "invalid_arguments"}, 405)
        try:
            self._token = token
            return json_response({"ok": True, **method.run(method.arguments(request))}, **text)
        except SlackError as refused:
            return json_response(refused.body, **text)

    def _list_channels(self, arguments: Json) -> Json:
        """Slack filters after it cuts pages, so a page can be empty without being the last."""
        return self._page_of_channels(self.channels, arguments, 100)

    def _list_joined(self, arguments: Json) -> Json:
        mine = [channel for channel in self.channels if channel["is_member"]]
        result = self._page_of_channels(mine, arguments, 100)
        for channel in result["channels"]:
            del channel["is_member"], channel["num_members"]
        return result

    def _page_of_channels(self, among: list[Json], arguments: Json, usual: int) -> Json:
        wanted = arguments.get("types", {"public_channel"})
        for kind, right in (("public_channel", "channels:read"), ("private_channel", "groups:read")):
            if kind in wanted:
                self._need(right)
        page, following = slice_page(among, arguments, usual)
        seen = [dict(item) for item in page if _kind(item) in wanted and (item["is_member"] or not item["is_private"])]
        if arguments.get("exclude_archived"):
            seen = [item for item in seen if not item["is_archived"]]
        return {"channels": seen, "response_metadata": {"next_cursor": following}}

    def _history(self, arguments: Json) -> Json:
        """Newest first. With only `oldest`, the page has the messages closest to it, not the newest."""
        results = [item for item in self._readable(arguments) if item.get("thread_ts", item["ts"]) == item["ts"]]
        forward = "oldest" in arguments and "latest" not in arguments
        page = self._page(sorted(results, key=lambda value: value["ts"], reverse=not forward), arguments, 100)
        messages = sorted(page["messages"], key=lambda value: value["ts"], reverse=True)
        return {**page, "messages": messages, "pin_count": 0, "channel_actions_ts": None, "channel_actions_count": 0}

    def _replies(self, arguments: Json) -> Json:
        """Every page begins with the parent message; for the id of a reply, only the reply is returned."""
        among = self._readable({"channel": arguments["channel"]})
        one = next((item for item in among if item["ts"] == arguments["ts"]), None)
        if one is None or one.get("subtype") in ("channel_join", "channel_leave"):
            raise SlackError("thread_not_found")
        root = one.get("thread_ts", one["ts"])
        if root != one["ts"]:
            return {"messages": [item for item in self._readable(arguments) if item is one], "has_more": False}
        thread = [item for item in self._readable(arguments) if item.get("thread_ts") == root and item["ts"] != root]
        first = [item for item in among if item["ts"] == root]
        result = self._page(
            sorted(thread, key=lambda value: value["ts"]), {**arguments, "limit": arguments.get("limit", 999)}, 999
        )
        return {**result, "messages": first + result["messages"]}

    def _readable(self, arguments: Json) -> list[Json]:
        channel = self.visible_channel(arguments.get("channel", ""))
        self._need("groups:history" if channel["is_private"] else "channels:history")
        if not channel["is_member"]:
            raise SlackError("not_in_channel")
        oldest, latest = arguments.get("oldest", "0"), arguments.get("latest", "9")
        ends = {oldest, latest} if arguments.get("inclusive") else set()
        return [
            message
            for message in self.messages[channel["id"]]
            if oldest < message["ts"] < latest or message["ts"] in ends
        ]

    def _page(self, objects: list[Json], arguments: Json, usual: int) -> Json:
        most = 999 if self.is_marketplace_app else 15
        page, following = slice_page(objects, {**arguments, "limit": min(arguments.get("limit", usual), most)}, usual)
        more = {"response_metadata": {"next_cursor": following}} if following else {}
        return {"messages": page, "has_more": bool(following), **more}

    def _person(self, arguments: Json) -> Json:
        self._need("users:read")
        name = PEOPLE.get(arguments.get("user", ""))
        if name is None:
            raise SlackError("user_not_found")
        return {"user": {"id": arguments["user"], "name": name.split()[0].lower(), "profile": {"real_name": name}}}

    def _post(self, arguments: Json) -> Json:
        self._need("chat:write")
        channel = self.visible_channel(arguments.get("channel", ""))
        body = _body(arguments)
        if channel["is_archived"]:
            raise SlackError("is_archived")
        if not channel["is_member"]:
            raise SlackError("not_in_channel")
        if channel["id"] == NEWS:
            raise SlackError("restricted_action_read_only_channel")
        return {"channel": channel["id"], **self._append(channel["id"], arguments, body)}

    def _append(self, channel: str, arguments: Json, body: str) -> Json:
        """A reply to a missing message is accepted, but no list shows it."""
        self._now += 60
        thread = {"thread_ts": arguments["thread_ts"]} if "thread_ts" in arguments else {}
        profile = {"bot_id": "B0PLUGBOARD", "bot_profile": {"id": "B0PLUGBOARD", "name": "plugboard"}}
        message = {"type": "message", "ts": f"{self._now}.000100", "user": BOT, "text": body, **profile, **thread}
        self.posted.append({"channel": channel, **message, "asked": arguments})
        for root in self.messages[channel]:
            if root["ts"] == thread.get("thread_ts"):
                root |= {"thread_ts": root["ts"], "reply_count": root.get("reply_count", 0) + 1}
        self.messages[channel].append(message)
        return {"ts": message["ts"], "message": message}

    def _need(self, right: str) -> None:
        scopes = self._token.family.scopes
        if right not in scopes:
            raise SlackError("missing_scope", needed=right, provided=",".join(scopes))

    _token: Token


def _kind(channel: Json) -> str:
    return "private_channel" if channel["is_private"] else "public_channel"


def _body(arguments: Json) -> str:
    if "markdown_text" in arguments and "text" in arguments:
        raise SlackError("markdown_text_conflict")
    body: str = arguments.get("markdown_text") or arguments.get("text") or ""
    if not body:
        raise SlackError("no_text")
    if "markdown_text" in arguments and len(body) > MAX_MARKDOWN:
        raise SlackError("msg_too_long")
    return body[:40_000]
