"""What is asked of Slack's tools for a person to read, and what is in their way?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fakes.authorization_server import Fault
from tests.fakes.slack_world_data import ADA, GENERAL, INCIDENTS, OUTAGE, at, channel, message
from tests.toolkits.contract import Json
from tests.toolkits.scenes import Ask, Case, Scene, Texts, many, outlined, runs_counted
from tests.toolkits.slack_desk import LIST, POST, READ, Slack

METHODS = {LIST: "conversations.list", READ: "conversations.history", POST: "chat.postMessage"}
SCOPES = ("channels:read", "channels:history", "groups:read", "groups:history", "chat:write")


def crowd(number: int, **more: Any) -> list[Json]:
    return [channel(f"C0CROWD{each:04d}", f"crowd-{each}", purpose="x" * 250, **more) for each in range(number)]


def crowded(number: int) -> Callable[[Slack], None]:
    def happens(slack: Slack) -> None:
        slack.world.channels = crowd(number) + slack.world.channels

    return happens


def no_channels(slack: Slack) -> None:
    slack.world.channels.clear()


def refusing(method: str, error: str, *, done: bool = False, **more: Any) -> Callable[[Slack], None]:
    return lambda slack: slack.world.refuse(method, error, done=done, **more)


def said(*messages: Json) -> Callable[[Slack], None]:
    def happens(slack: Slack) -> None:
        slack.world.messages[GENERAL] = list(messages)

    return happens


def named(slack: Slack) -> None:
    slack.grant(*SCOPES, "users:read")


LISTING = Case(
    LIST,
    {
        Scene.MEANT: {},
        Scene.PAGE: Ask({"limit": 4}, to_the_end=True),
        f"{Scene.OTHERWISE}: in full": {"full": True, "query": "incidents"},
        f"{Scene.WRONG}, 1": {"limit": 0},
        f"{Scene.WRONG}, 2": {"limit": "many", "order": "name"},
        f"{Scene.WRONG}, 3": {"query": "x" * 201},
        f"{Scene.WRONG}: a cursor of elsewhere, 1": {"cursor": "abc"},
        f"{Scene.WRONG}: a cursor of elsewhere, 2": {"cursor": "abc~x"},
        "while the workspace moves": Ask({}, refusing("conversations.list", "team_added_to_org")),
        f"{Scene.EMPTY}: no channel has that word": {"query": "payroll"},
        Scene.HUGE: Ask({"limit": 1000, "full": True}, crowded(1700), outlined),
        f"{Scene.HUGE}: a search goes on": {"query": "incidents"},
        f"{Scene.EMPTY}: the bot is in no channel": Ask({"joined": True}, no_channels),
        Scene.EMPTY: {},
    },
)
READING = Case(
    READ,
    {
        Scene.MEANT: {"channelId": INCIDENTS},
        Scene.PAGE: Ask({"channelId": INCIDENTS, "limit": 1}, to_the_end=True),
        f"{Scene.OTHERWISE}: by its name": {"channelId": "#support"},
        f"{Scene.OTHERWISE}: another one": {"channelId": "C0LAUNCH001"},
        f"{Scene.OTHERWISE}: by its name alone": {"channelId": "general"},
        f"{Scene.OTHERWISE}: a thread": {"channelId": INCIDENTS, "threadTs": OUTAGE},
        f"{Scene.OTHERWISE}: in full": {"channelId": INCIDENTS, "full": True, "limit": 1},
        f"{Scene.OTHERWISE}: with names": Ask({"channelId": "#support"}, named),
        f"{Scene.RIGHTS}: the bot is not in it": {"channelId": "C0RANDOM001"},
        f"{Scene.RIGHTS}: the bot is not in what has that name": {"channelId": "#random"},
        f"{Scene.EMPTY}: no such channel": {"channelId": "C0BOARD0001"},
        f"{Scene.EMPTY}: no such thread": {"channelId": INCIDENTS, "threadTs": "1794819600.999999"},
        **many(
            Scene.WRONG,
            {},
            {"channelId": "no channel at all!"},
            {"channelId": "https://example.com/archives/none"},
            {"channelId": GENERAL, "threadTs": "yesterday"},
            {"channelId": GENERAL, "oldest": "last Monday"},
            {"channelId": GENERAL, "limit": 5000},
            {"channelId": GENERAL, "order": "oldest first"},
        ),
        f"{Scene.WRONG}: a cursor of elsewhere": {"channelId": GENERAL, "cursor": "abc"},
        f"{Scene.EMPTY}: nobody has said anything": Ask(
            {"channelId": GENERAL}, said(message(at(1), ADA, "<@U0ADA000001> has joined", subtype="channel_join"))
        ),
        Scene.EMPTY: Ask({"channelId": GENERAL, "oldest": "2026-11-16T12:00:00Z"}, said()),
        Scene.HUGE: Ask(
            {"channelId": GENERAL, "limit": 999},
            said(*(message(at(120 - each), ADA, f"{each} {'x' * 1500}") for each in range(120))),
            lambda scene: outlined(runs_counted(scene)),
        ),
        f"{Scene.HUGE}: a name among too many": Ask({"channelId": "#no-such"}, crowded(1800)),
    },
    usual={"channelId": GENERAL},
)
POSTING = Case(
    POST,
    {
        Scene.MEANT: {"channel": "#general", "text": "**Done**: [order](https://acme.example)"},
        f"{Scene.OTHERWISE}: a reply": {"channel": INCIDENTS, "threadTs": OUTAGE, "text": "Thanks!"},
        f"{Scene.EMPTY}: no such thread": {"channel": INCIDENTS, "threadTs": "1794819600.999999", "text": "Thanks!"},
        f"{Scene.RIGHTS}: the bot is not in it": {"channel": "C0RANDOM001", "text": "Hi"},
        f"{Scene.RIGHTS}: the bot is not in what has that name": {"channel": "#random", "text": "Hi"},
        Scene.EMPTY: {"channel": "C0BOARD0001", "text": "Hi"},
        f"{Scene.RIGHTS}: only some may post": {"channel": "C0NEWS00001", "text": "Hi"},
        f"{Scene.RIGHTS}: it is archived": {"channel": "C0OLDSHOP01", "text": "Hi"},
        **many(
            Scene.WRONG,
            {"channel": GENERAL},
            {"channel": GENERAL, "text": "  "},
            {"channel": "no channel at all!", "text": "Hi"},
            {"channel": GENERAL, "text": "Hi", "alsoInChannel": True},
            {"channel": GENERAL, "text": "Hi", "format": "html"},
            {"channel": GENERAL, "text": "Hi", "threadTs": "the last one"},
            {"channel": GENERAL, "text": "Hi", "blocks": []},
        ),
        "a word that is new": Ask(
            {"channel": GENERAL, "text": "Hi"},
            refusing(
                "chat.postMessage",
                "sunday",
                response_metadata={"messages": ["[ERROR] no more on Sundays [json-pointer:/channel]"]},
            ),
        ),
        Scene.HUGE: Ask({"channel": GENERAL, "text": "x" * 12_000}, shown=runs_counted),
        f"{Scene.HUGE}: and more than Slack takes": Ask({"channel": GENERAL, "text": "x" * 12_001}, shown=runs_counted),
    },
    usual={"channel": GENERAL, "text": "Hi"},
    writes=True,
)


def lost(fault: Fault) -> Callable[[Slack, str], None]:
    return lambda slack, _: slack.second(fault)


def too_late(slack: Slack, _: str) -> None:
    slack.desk.change(timeoutSeconds=1)
    slack.second(Fault("hold", after=True))


TEXTS = Texts(
    Slack,
    (LISTING, READING, POSTING),
    troubles={
        Scene.RIGHTS: lambda slack, _: slack.grant("emoji:read", "users:read"),
        Scene.BUSY: lambda slack, tool: slack.world.limit(METHODS[tool], seconds=60),
    },
    ended="somebody has removed the app",
    lost={
        Scene.LOST: lost(Fault("close", after=True)),
        f"{Scene.LOST}: it says that it is down": lost(Fault("down", after=True)),
        f"{Scene.LOST}: no JSON": lost(Fault("html", after=True)),
        f"{Scene.LOST}: trouble of Slack's own": lambda slack, _: slack.world.refuse(
            "chat.postMessage", "internal_error", done=True
        ),
        f"{Scene.LOST}: it comes too late": too_late,
    },
)
