"""Slack's Web API with a small workspace behind it: strict about what it takes, and wrong in the ways that Slack is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from demo.oauth_provider.http import Answer, Request, said
from demo.oauth_provider.model import Token
from demo.oauth_provider.tenant import Tenant
from demo.services.slack.calls import (
    Method,
    Refused,
    busy,
    cursor,
    flag,
    limit,
    page_of,
    stamp,
    text,
    types,
)
from demo.services.slack.data import BOT, MONDAY, NEWS, PEOPLE, channels, messages

Json = dict[str, Any]
Next = Callable[[Callable[[], Answer]], Answer]
"""What becomes of a call, given how it would be answered."""

PAGE = {"limit": limit, "cursor": cursor}
LISTING = {**PAGE, "types": types, "exclude_archived": flag, "team_id": text}
TIMES = {"oldest": stamp("invalid_ts_oldest"), "latest": stamp("invalid_ts_latest"), "inclusive": flag}
READING = {**PAGE, **TIMES, "channel": text, "include_all_metadata": flag}
POST = {
    **dict.fromkeys(("channel", "text", "markdown_text"), text),
    **dict.fromkeys(("mrkdwn", "reply_broadcast", "unfurl_links", "unfurl_media"), flag),
    "thread_ts": stamp("invalid_thread_ts"),
}
LONGEST_MARKDOWN = 12_000


class World:
    def __init__(self, tenant: Tenant) -> None:
        self.channels = channels()
        self.messages = messages()
        self.posted: list[Json] = []
        """Whatever was posted, also where nobody will ever see it."""
        self.is_marketplace_app = True
        """Others, if they are sold, get 15 messages at most."""
        self.tells_rights = True
        self._tenant = tenant
        self._next: dict[str, list[Next]] = {}
        self._now = MONDAY + 30 * 3600
        self._methods = {
            "conversations.list": Method(self._listed, LISTING),
            "users.conversations": Method(self._joined, {**LISTING, "user": text}),
            "conversations.history": Method(self._history, READING),
            "conversations.replies": Method(self._replies, {**READING, "ts": stamp("invalid_arguments")}),
            "users.info": Method(self._person, {"user": text, "include_locale": flag}),
            "chat.postMessage": Method(self._post, POST, writes=True),
        }

    def limit(self, method: str, seconds: int, times: int = 1) -> None:
        """The next calls are too many."""
        self.then(method, *[lambda _: busy(seconds)] * times)

    def refuse(self, method: str, error: str, *, done: bool = False, times: int = 1, **more: object) -> None:
        """With a word of Slack's; `done`: after all was done all the same."""

        def refused(work: Callable[[], Answer]) -> Answer:
            if done:
                work()
            return said({"ok": False, "error": error, **more})

        self.then(method, *[refused] * times)

    def then(self, method: str, *happens: Next) -> None:
        self._next.setdefault(method, []).extend(happens)

    def channel(self, id: str) -> Json:  # noqa: A002  Slack's word
        """As the bot sees it: what is private and not its own is not there."""
        found = next((each for each in self.channels if id in (each["id"], f"#{each['name']}")), None)
        if found is None or (found["is_private"] and not found["is_member"]):
            raise Refused("channel_not_found")
        return found

    def answer(self, request: Request) -> Answer:
        name = request.path.removeprefix("/api/")
        method = self._methods.get(name)
        if method is None:
            return said({"ok": False, "error": "unknown_method", "req_method": name})
        waiting = self._next.get(name)
        happens = waiting.pop(0) if waiting else None
        return happens(lambda: self._worked(method, request)) if happens else self._worked(method, request)

    def _worked(self, method: Method, request: Request) -> Answer:
        token = self._tenant.grants.good(request.bearer)
        if token is None:
            words = {"unknown": "invalid_auth", "revoked": "token_revoked", "expired": "token_expired"}
            condition = self._tenant.grants.condition(request.bearer)
            return said({"ok": False, "error": words[condition] if request.bearer else "not_authed"})
        told = {"X_OAuth_Scopes": ",".join(token.family.scopes)} if self.tells_rights else {}
        if request.method not in (("POST",) if method.writes else ("GET", "POST")):
            return said({"ok": False, "error": "invalid_arguments"}, 405)
        try:
            self._token = token
            return said({"ok": True, **method.work(method.arguments(request))}, **told)
        except Refused as refused:
            return said(refused.said, **told)

    def _listed(self, asked: Json) -> Json:
        """Slack cuts pages first and leaves out afterwards: a page may have nothing in it and yet not be the last."""
        return self._page_of_channels(self.channels, asked, 100)

    def _joined(self, asked: Json) -> Json:
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
        page, following = page_of(among, asked, usual)
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
            raise Refused("thread_not_found")
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
        channel = self.channel(asked.get("channel", ""))
        self._need("groups:history" if channel["is_private"] else "channels:history")
        if not channel["is_member"]:
            raise Refused("not_in_channel")
        oldest, latest = asked.get("oldest", "0"), asked.get("latest", "9")
        ends = {oldest, latest} if asked.get("inclusive") else set()
        return [each for each in self.messages[channel["id"]] if oldest < each["ts"] < latest or each["ts"] in ends]

    def _page(self, found: list[Json], asked: Json, usual: int) -> Json:
        most = 999 if self.is_marketplace_app else 15
        page, following = page_of(found, {**asked, "limit": min(asked.get("limit", usual), most)}, usual)
        more = {"response_metadata": {"next_cursor": following}} if following else {}
        return {"messages": page, "has_more": bool(following), **more}

    def _person(self, asked: Json) -> Json:
        self._need("users:read")
        name = PEOPLE.get(asked.get("user", ""))
        if name is None:
            raise Refused("user_not_found")
        return {"user": {"id": asked["user"], "name": name.split()[0].lower(), "profile": {"real_name": name}}}

    def _post(self, asked: Json) -> Json:
        self._need("chat:write")
        channel = self.channel(asked.get("channel", ""))
        body = _body(asked)
        if channel["is_archived"]:
            raise Refused("is_archived")
        if not channel["is_member"]:
            raise Refused("not_in_channel")
        if channel["id"] == NEWS:
            raise Refused("restricted_action_read_only_channel")
        return {"channel": channel["id"], **self._kept(channel["id"], asked, body)}

    def _kept(self, channel: str, asked: Json, body: str) -> Json:
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
            raise Refused("missing_scope", needed=right, provided=",".join(scopes))

    _token: Token


def _kind(channel: Json) -> str:
    return "private_channel" if channel["is_private"] else "public_channel"


def _body(asked: Json) -> str:
    if "markdown_text" in asked and "text" in asked:
        raise Refused("markdown_text_conflict")
    body: str = asked.get("markdown_text") or asked.get("text") or ""
    if not body:
        raise Refused("no_text")
    if "markdown_text" in asked and len(body) > LONGEST_MARKDOWN:
        raise Refused("msg_too_long")
    return body[:40_000]
