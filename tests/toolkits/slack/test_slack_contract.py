import pytest

from demo.oauth_provider.tenant import RecordedRequest
from tests.toolkits.slack.slack_contract import CONTRACT

pytestmark = CONTRACT.needed


def get(method: str, **query: str) -> RecordedRequest:
    return CONTRACT.get(f"/api/{method}", **query)


def post(method: str, body: str) -> RecordedRequest:
    return CONTRACT.sent("POST", f"/api/{method}", body, **{"content-type": "application/json; charset=utf-8"})


@pytest.mark.parametrize(
    "recorded",
    [
        get("auth.test"),
        get("users.info", user="U0ADA000001"),
        get("conversations.list", types="public_channel,private_channel", exclude_archived="true", limit="200"),
        get("conversations.history", channel="C0GENERAL01", limit="50", oldest="1794819600.000200", inclusive="true"),
        get("conversations.replies", channel="C0GENERAL01", ts="1794819600.000200", limit="1"),
        post("chat.postMessage", '{"channel": "C0GENERAL01", "markdown_text": "**hi**", "reply_broadcast": true}'),
    ],
    ids=lambda recorded: recorded.path.rpartition("/")[2],
)
def test_requests_that_slack_accepts_pass(recorded: RecordedRequest) -> None:
    CONTRACT.assert_accepts(recorded)


@pytest.mark.parametrize(
    ("recorded", "complaint"),
    [
        (get("conversations.lists"), "no such method"),
        (get("chat.postMessage", channel="C0GENERAL01", text="hi"), "not asked with GET"),
        (get("conversations.list", kinds="public_channel"), "takes no kinds"),
        (get("conversations.list", token="xoxb-1"), "takes no token"),
        (get("conversations.list", limit="1000"), "out of bounds"),
        (get("conversations.history", limit="10"), "required property"),
        (get("conversations.history", channel="#general"), "no channel's ID"),
        (get("conversations.history", channel="C0GENERAL01", oldest="1794819600.0002"), "no timestamp"),
        (get("conversations.history", channel="C0GENERAL01", inclusive="True"), "no boolean"),
        (post("chat.postMessage", '{"channel": "C0GENERAL01", "thread_ts": 1794819600.0002}'), "no timestamp"),
        (post("chat.postMessage", '{"markdown_text": "hi"}'), "channel is missing"),
        (post("conversations.history", "{}"), "not asked with POST"),
        (post("chat.postMessage", f'{{"channel": "C0GENERAL01", "markdown_text": "{"a" * 12_001}"}}'), "too long"),
    ],
)
def test_requests_that_slack_would_refuse_are_detected(recorded: RecordedRequest, complaint: str) -> None:
    CONTRACT.assert_refuses(recorded, complaint)
