"""Data of the Slack demo workspace: channels, people and a week of messages of a small shop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

ADA, GRACE, LINUS, BOT = "U0ADA000001", "U0GRACE0001", "U0LINUS0001", "U0PLUGBOARD"
GENERAL, SUPPORT, INCIDENTS, RANDOM = "C0GENERAL01", "C0SUPPORT01", "C0INCIDENT1", "C0RANDOM001"
NEWS, LAUNCH, OLD, BOARD = "C0NEWS00001", "C0LAUNCH001", "C0OLDSHOP01", "C0BOARD0001"
MONDAY = 1794816000  # 2026-11-16T08:00:00Z
HOUR = 3600
OUTAGE, LAUNCH_PLAN = f"{MONDAY + HOUR}.000200", f"{MONDAY + 26 * HOUR}.000100"

PEOPLE: Mapping[str, str] = {ADA: "Ada Lovelace", GRACE: "Grace Hopper", LINUS: "Linus T."}


def at(hours: float, number: int = 100) -> str:
    return f"{MONDAY + int(hours * HOUR)}.{number:06d}"


def channel(id: str, name: str, topic: str = "", purpose: str = "", **more: Any) -> Json:  # noqa: A002  Slack's word
    return {
        "id": id,
        "name": name,
        "name_normalized": name,
        "is_channel": True,
        "is_private": False,
        "is_archived": False,
        "is_member": True,
        "created": MONDAY - 9_000_000,
        "creator": ADA,
        "previous_names": [],
        "topic": {"value": topic, "creator": ADA, "last_set": 0},
        "purpose": {"value": purpose, "creator": ADA, "last_set": 0},
        "num_members": 12,
        **more,
    }


def message(ts: str, user: str, text: str, **more: Any) -> Json:
    return {"type": "message", "ts": ts, "user": user, "text": text, "team": "T0ACME00001", **more}


def reply(ts: str, user: str, text: str, thread_ts: str, **more: Any) -> Json:
    return message(ts, user, text, thread_ts=thread_ts, **more)


def channels() -> list[Json]:
    return [
        channel(GENERAL, "general", "Company-wide announcements &amp; news", num_members=42, is_general=True),
        channel(RANDOM, "random", purpose="Cats, mostly", num_members=40, is_member=False),
        channel(SUPPORT, "support", "On call: <@U0GRACE0001>", "Questions of customers", previous_names=["helpdesk"]),
        channel(INCIDENTS, "incidents", purpose="When something is down", is_private=True, num_members=5),
        channel(NEWS, "announcements", purpose="Only the founders post here", num_members=42),
        channel(LAUNCH, "launch-2027", "Plan: <https://docs.acme.example/launch|launch plan>", num_members=7),
        channel(OLD, "old-shop", "The shop before this one", is_archived=True, num_members=0),
        channel(BOARD, "board", is_private=True, is_member=False, num_members=3),
    ]


def messages() -> dict[str, list[Json]]:
    return {
        GENERAL: [
            message(at(1), ADA, "Good morning! Numbers of last week: 1 204 orders &gt; 1 100 planned :tada:"),
            message(at(1.1), LINUS, "<@U0LINUS0001> has joined the channel", subtype="channel_join"),
        ],
        SUPPORT: _support(),
        INCIDENTS: _incidents(),
        NEWS: [message(at(2), ADA, "We open in Lisbon in March.")],
        LAUNCH: _launch(),
        OLD: [message("1700000000.000100", ADA, "This channel moves to <#C0SUPPORT01|support>.")],
        RANDOM: [message(at(5), GRACE, "Cat.")],
        BOARD: [],
    }


def _support() -> list[Json]:
    card = {"title": "#4711: Where is my parcel?", "text": "Customer: *Mrs. Hamilton*", "fallback": "Ticket 4711"}
    fields = [{"title": "Priority", "value": "high", "short": True}]
    desk = {"bot_id": "B0HELPDESK1", "username": "Helpdesk", "subtype": "bot_message"}
    return [
        {"type": "message", "ts": at(3), "text": "", "attachments": [{**card, "fields": fields}], **desk},
        message(at(3.2), GRACE, "<@U0ADA000001> can you look? cc <!subteam^S0SHIPPING|@shipping>"),
        message(
            at(3.4), ADA, "On it: <https://acme.example/orders/4711|the order>", edited={"user": ADA, "ts": at(3.5)}
        ),
    ]


def _incidents() -> list[Json]:
    thread = {"thread_ts": OUTAGE, "reply_count": 3, "reply_users": [ADA, GRACE], "latest_reply": at(1.5)}
    eyes = [{"name": "eyes", "count": 2, "users": [ADA, GRACE]}]
    log = {
        "id": "F0LOG000001",
        "name": "checkout.log",
        "permalink": "https://acme.slack.com/files/U0GRACE0001/F0LOG000001",
    }
    return [
        message(OUTAGE, GRACE, "Checkout is down since 08:55. <!here>", reactions=eyes, **thread),
        reply(at(1.1), ADA, "Database is out of connections.", OUTAGE, parent_user_id=GRACE),
        reply(at(1.2), GRACE, "", OUTAGE, parent_user_id=GRACE, files=[log]),
        reply(at(1.5), ADA, "Fixed &amp; deployed.", OUTAGE, parent_user_id=GRACE),
        message(at(2), GRACE, "All green again. Lesson: pool size &lt; connections of the database."),
    ]


def _launch() -> list[Json]:
    points = [
        {
            "type": "rich_text_section",
            "elements": [{"type": "text", "text": "Prices by "}, {"type": "user", "user_id": ADA}],
        },
        {"type": "rich_text_section", "elements": [{"type": "text", "text": "Photos", "style": {"bold": True}}]},
    ]
    todo = [
        {
            "type": "rich_text_section",
            "elements": [{"type": "text", "text": "To do "}, {"type": "emoji", "name": "memo"}],
        },
        {"type": "rich_text_list", "style": "bullet", "elements": points},
    ]
    plan = {"type": "section", "text": {"type": "mrkdwn", "text": "See <https://docs.acme.example/launch|the plan>"}}
    blocks = [{"type": "rich_text", "elements": todo}, plan]
    return [
        message(LAUNCH_PLAN, LINUS, "", blocks=blocks),
        message(
            at(27),
            ADA,
            "Meeting <!date^1794992400^{date_num}|2026-11-18 09:00>, mail <mailto:ada@acme.example|ada@acme.example>",
        ),
    ]
