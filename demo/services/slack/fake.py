"""Slack's Web API with a small workspace behind it: strict about what it takes, and wrong in the ways that Slack is."""

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
"""What becomes of a call, given how it would be answered."""

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
        """Whatever was posted, also where nobody will ever see it."""
        self.is_marketplace_app = True
        """Others, if they are sold, get 15 messages at most."""
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
        """The next calls are too many."""
        self.on_next(method, *[lambda _: rate_limited(seconds)] * times)

    def inject_error(self, method: str, error: str, *, done: bool = False, times: int = 1, **more: object) -> None:
        """With a word of Slack's; `done`: after all was done all the same."""

        def refused(work: Callable[[], Response]) -> Response:
            if done:
                work()
            return json_response({"ok": False, "error": error, **more})

        self.on_next(method, *[refused] * times)

    def on_next(self, method: str, *happens: Behaviour) -> None:
        self._next.setdefault(method, []).extend(happens)

    def visible_channel(self, id: str) -> Json:  # noqa: A002  Slack's word
        """As the bot sees it: what is private and not its own is not there."""
        found = next((each for each in self.channels if id in (each["id"], f"#{each['name']}")), None)
        if found is None or (found["is_private"] and not found["is_member"]):
            raise SlackError("channel_not_found")
        return found

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
        told = {"X_OAuth_Scopes": ",".join(token.family.scopes)} if self.sends_scopes else {}
        if request.method not in (("POST",) if method.writes else ("GET", "POST")):
            return json_response({"ok": False, "error": "invalid_arguments"}, 405)
        try:
            self._token = token
            return json_response({"ok": True, **method.run(method.arguments(request))}, **told)
        except SlackError as refused:
            return json_response(refused.body, **told)

    def _list_channels(self, asked: Json) -> Json:
        """Slack cuts pages first and leaves out afterwards: a page may have nothing in it and yet not be the last."""
        return self._page_of_channels(self.channels, asked, 100)

    def _list_joined(self, asked: Json) -> Json:
        mine = [each for each in self.channels if each["is_member"]]
        found = self._page_of_channels(mine, asked, 100)
        for each in found["channels"]:
            del each["is_member"], each["num_members"]
        return found

    def _page_of_channels(self, among: list[Json], asked: Json, usual: int) -> Json:
        wanted = asked.get("types", {"public_channel"})
        for kind, right in (("public_channel", "channels:read"), ("private_channel", "groups:read")):
            if kind in wanted:
                self._need(right)
        page, following = slice_page(among, asked, usual)
        seen = [dict(each) for each in page if _kind(each) in wanted and (each["is_member"] or not each["is_private"])]
        if asked.get("exclude_archived"):
            seen = [each for each in seen if not each["is_archived"]]
        return {"channels": seen, "response_metadata": {"next_cursor": following}}

    def _history(self, asked: Json) -> Json:
        """Newest first. With `oldest` alone, it is the messages closest to that which come, and not the newest."""
        found = [each for each in self._readable(asked) if each.get("thread_ts", each["ts"]) == each["ts"]]
        forward = "oldest" in asked and "latest" not in asked
        page = self._page(sorted(found, key=lambda each: each["ts"], reverse=not forward), asked, 100)
        messages = sorted(page["messages"], key=lambda each: each["ts"], reverse=True)
        return {**page, "messages": messages, "pin_count": 0, "channel_actions_ts": None, "channel_actions_count": 0}

    def _replies(self, asked: Json) -> Json:
        """The message that the thread hangs on begins every page; of a reply there is only the reply."""
        among = self._readable({"channel": asked["channel"]})
        one = next((each for each in among if each["ts"] == asked["ts"]), None)
        if one is None or one.get("subtype") in ("channel_join", "channel_leave"):
            raise SlackError("thread_not_found")
        root = one.get("thread_ts", one["ts"])
        if root != one["ts"]:
            return {"messages": [each for each in self._readable(asked) if each is one], "has_more": False}
        thread = [each for each in self._readable(asked) if each.get("thread_ts") == root and each["ts"] != root]
        first = [each for each in among if each["ts"] == root]
        found = self._page(
            sorted(thread, key=lambda each: each["ts"]), {**asked, "limit": asked.get("limit", 999)}, 999
        )
        return {**found, "messages": first + found["messages"]}

    def _readable(self, asked: Json) -> list[Json]:
        channel = self.visible_channel(asked.get("channel", ""))
        self._need("groups:history" if channel["is_private"] else "channels:history")
        if not channel["is_member"]:
            raise SlackError("not_in_channel")
        oldest, latest = asked.get("oldest", "0"), asked.get("latest", "9")
        ends = {oldest, latest} if asked.get("inclusive") else set()
        return [each for each in self.messages[channel["id"]] if oldest < each["ts"] < latest or each["ts"] in ends]

    def _page(self, found: list[Json], asked: Json, usual: int) -> Json:
        most = 999 if self.is_marketplace_app else 15
        page, following = slice_page(found, {**asked, "limit": min(asked.get("limit", usual), most)}, usual)
        more = {"response_metadata": {"next_cursor": following}} if following else {}
        return {"messages": page, "has_more": bool(following), **more}

    def _person(self, asked: Json) -> Json:
        self._need("users:read")
        name = PEOPLE.get(asked.get("user", ""))
        if name is None:
            raise SlackError("user_not_found")
        return {"user": {"id": asked["user"], "name": name.split()[0].lower(), "profile": {"real_name": name}}}

    def _post(self, asked: Json) -> Json:
        self._need("chat:write")
        channel = self.visible_channel(asked.get("channel", ""))
        body = _body(asked)
        if channel["is_archived"]:
            raise SlackError("is_archived")
        if not channel["is_member"]:
            raise SlackError("not_in_channel")
        if channel["id"] == NEWS:
            raise SlackError("restricted_action_read_only_channel")
        return {"channel": channel["id"], **self._append(channel["id"], asked, body)}

    def _append(self, channel: str, asked: Json, body: str) -> Json:
        """A reply to nothing is taken as any other, and then nobody finds it."""
        self._now += 60
        thread = {"thread_ts": asked["thread_ts"]} if "thread_ts" in asked else {}
        profile = {"bot_id": "B0PLUGBOARD", "bot_profile": {"id": "B0PLUGBOARD", "name": "plugboard"}}
        message = {"type": "message", "ts": f"{self._now}.000100", "user": BOT, "text": body, **profile, **thread}
        self.posted.append({"channel": channel, **message, "asked": asked})
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


def _body(asked: Json) -> str:
    if "markdown_text" in asked and "text" in asked:
        raise SlackError("markdown_text_conflict")
    body: str = asked.get("markdown_text") or asked.get("text") or ""
    if not body:
        raise SlackError("no_text")
    if "markdown_text" in asked and len(body) > MAX_MARKDOWN:
        raise SlackError("msg_too_long")
    return body[:40_000]
