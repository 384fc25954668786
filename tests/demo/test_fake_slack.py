from dataclasses import dataclass
from typing import Any

import pytest

from demo.oauth_provider.server import OAuthProvider
from demo.services.slack.data import ADA, GENERAL, INCIDENTS, OUTAGE, at, message
from demo.services.slack.fake import FakeSlack
from tests.fakes.authorization_client import app_of
from tests.harness import caller
from tests.toolkits.slack.slack_contract import NOT_THERE, folder, validator_of

ALL = ("channels:read", "channels:history", "groups:read", "groups:history", "chat:write", "users:read")
BOTH = "public_channel,private_channel"


@dataclass
class SlackBot:
    server: OAuthProvider
    token: str

    @property
    def world(self) -> FakeSlack:
        world = self.server.fake("slack")
        assert isinstance(world, FakeSlack)
        return world

    def send(self, method: str, verb: str = "GET", **sent: Any) -> dict[str, Any]:
        with caller(self.server.url("/slack/api/"), self.token) as client:
            body: dict[str, Any] = client.request(verb, method, **sent).json()
        return body

    def get(self, method: str, **params: str) -> dict[str, Any]:
        return self.send(method, params=params)

    def post(self, **message: Any) -> dict[str, Any]:
        return self.send("chat.postMessage", "POST", json=message)


@pytest.fixture
def bot(shared: OAuthProvider) -> SlackBot:
    shared.reset()
    token = app_of(shared, "slack").connect()["access_token"]
    shared.tenant("slack").families[0].scopes = ALL
    return SlackBot(shared, token)


@pytest.mark.skipif(folder() is None, reason=NOT_THERE)
def test_responses_match_slacks_own_types(bot: SlackBot) -> None:
    responses = {
        "ConversationsListResponse": [bot.get("conversations.list", types=BOTH), bot.get("users.conversations")],
        "ConversationsHistoryResponse": [
            bot.get("conversations.history", channel=message_) for message_ in bot.world.messages
        ],
        "ConversationsRepliesResponse": [bot.get("conversations.replies", channel=INCIDENTS, ts=OUTAGE)],
        "UsersInfoResponse": [bot.get("users.info", user="U0ADA000001")],
        "ChatPostMessageResponse": [bot.post(channel=GENERAL, text="Hi"), bot.post(channel="none", text="Hi")],
    }
    wrong = [
        (name, error.message, list(error.instance_path))
        for name, several in responses.items()
        for answer in several
        for error in validator_of(name).iter_errors({k: v for k, v in answer.items() if v is not None})
        if list(error.instance_path).count("elements") < 2  # of what is in a line of rich text the types know nothing
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("method", "verb", "sent", "error"),
    [
        ("conversations.lists", "GET", {}, "unknown_method"),
        ("conversations.list", "GET", {"params": {"limit": "1000"}}, "invalid_limit"),
        ("conversations.list", "GET", {"params": {"cursor": "abc"}}, "invalid_cursor"),
        ("conversations.list", "GET", {"params": {"types": "public_channel, private_channel"}}, "invalid_types"),
        ("conversations.list", "GET", {"params": {"exclude_archived": "True"}}, "invalid_arguments"),
        ("conversations.list", "GET", {"params": {"token": "x"}}, "invalid_arg_name"),
        ("conversations.list", "POST", {"json": {"limit": 5}}, "invalid_form_data"),
        ("conversations.history", "GET", {}, "channel_not_found"),
        ("conversations.history", "GET", {"params": {"channel": "C0BOARD0001"}}, "channel_not_found"),
        ("conversations.history", "GET", {"params": {"channel": "C0RANDOM001"}}, "not_in_channel"),
        ("conversations.history", "GET", {"params": {"channel": GENERAL, "oldest": "1.5"}}, "invalid_ts_oldest"),
        ("conversations.replies", "GET", {"params": {"channel": GENERAL, "ts": OUTAGE}}, "thread_not_found"),
        ("chat.postMessage", "GET", {"params": {"channel": GENERAL, "text": "Hi"}}, "invalid_arguments"),
        ("chat.postMessage", "POST", {"content": b"{}"}, "invalid_post_type"),
        ("chat.postMessage", "POST", {"json": {"channel": GENERAL}}, "no_text"),
        (
            "chat.postMessage",
            "POST",
            {"json": {"channel": GENERAL, "text": "a", "thread_ts": 1.5}},
            "invalid_thread_ts",
        ),
        ("chat.postMessage", "POST", {"json": {"channel": GENERAL, "text": 5}}, "invalid_arguments"),
        (
            "chat.postMessage",
            "POST",
            {"json": {"channel": GENERAL, "text": "a", "markdown_text": "b"}},
            "markdown_text_conflict",
        ),
        ("chat.postMessage", "POST", {"json": {"channel": GENERAL, "markdown_text": "a" * 12_001}}, "msg_too_long"),
        ("chat.postMessage", "POST", {"json": {"channel": "C0OLDSHOP01", "text": "a"}}, "is_archived"),
        ("users.info", "GET", {"params": {"user": "U0NOBODY001"}}, "user_not_found"),
    ],
)
def test_requests_that_slack_would_refuse_are_refused(
    bot: SlackBot, method: str, verb: str, sent: dict[str, Any], error: str
) -> None:
    body = bot.send(method, verb, **sent)
    assert (body["ok"], body["error"]) == (False, error)
    assert bot.world.posted == []


def test_parameters_are_not_remembered_between_pages(bot: SlackBot) -> None:
    first = bot.get("conversations.list", types=BOTH, limit="3")
    cursor = first["response_metadata"]["next_cursor"]
    assert "incidents" not in [channel["name"] for channel in bot.get("conversations.list", cursor=cursor)["channels"]]


def test_every_method_requires_its_scope(bot: SlackBot) -> None:
    bot.server.tenant("slack").families[0].scopes = ("channels:read",)
    response = bot.get("conversations.list", types=BOTH)
    assert response == {"ok": False, "error": "missing_scope", "needed": "groups:read", "provided": "channels:read"}
    assert bot.get("conversations.list")["ok"] is True
    assert bot.get("users.info", user="U0ADA000001")["needed"] == "users:read"
    assert bot.post(channel=GENERAL, text="Hi")["needed"] == "chat:write"


def test_an_invalid_token_gets_slacks_error_code(bot: SlackBot) -> None:
    bot.server.tenant("slack").expire_tokens()
    assert bot.get("conversations.list")["error"] == "token_expired"
    bot.token = "xoxb-other"
    assert bot.get("conversations.list")["error"] == "invalid_auth"


def test_a_reply_to_a_missing_message_is_accepted_and_not_shown(bot: SlackBot) -> None:
    body = bot.post(channel=GENERAL, text="lost", thread_ts="1794819600.999999")
    assert body["ok"] is True
    assert "lost" not in [
        message_["text"] for message_ in bot.get("conversations.history", channel=GENERAL)["messages"]
    ]


def test_a_posted_message_can_be_read(bot: SlackBot) -> None:
    ts = bot.post(channel=INCIDENTS, text="Thanks", thread_ts=OUTAGE)["ts"]
    thread = bot.get("conversations.replies", channel=INCIDENTS, ts=OUTAGE)["messages"]
    assert (thread[0]["reply_count"], thread[-1]["ts"]) == (4, ts)


def test_with_only_oldest_the_earliest_messages_come_first(bot: SlackBot) -> None:
    bot.world.messages[GENERAL] = [message(at(number), ADA, str(number)) for number in range(1, 7)]
    bounds = {"channel": GENERAL, "limit": "2", "oldest": at(2), "inclusive": "true"}
    assert texts(bot.get("conversations.history", **bounds)) == ["3", "2"]
    assert texts(bot.get("conversations.history", **bounds, latest=at(9))) == ["6", "5"]


def test_the_thread_of_a_reply_is_the_reply_alone(bot: SlackBot) -> None:
    result = bot.get("conversations.replies", channel=INCIDENTS, ts=at(1.1))
    assert [message_["ts"] for message_ in result["messages"]] == [at(1.1)]
    assert result["messages"][0]["thread_ts"] == OUTAGE


def texts(value: dict[str, Any]) -> list[str]:
    return [message_["text"] for message_ in value["messages"]]
