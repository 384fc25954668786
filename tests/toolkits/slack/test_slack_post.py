from collections.abc import Iterator

import pytest

from demo.oauth_provider.http import json_response
from demo.oauth_provider.server import Fault, OAuthProvider
from demo.services.slack.data import GENERAL, INCIDENTS, OUTAGE, at
from tests.harness import Plugboard
from tests.toolkits.slack.connected_slack import POST, Slack, connected_slack
from tests.toolkits.slack.slack_texts import halved

REPLY = {"channel": INCIDENTS, "threadTs": OUTAGE, "text": "Thanks!"}


@pytest.fixture
def slack(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Slack]:
    with connected_slack(plugboard, provider) as service:
        yield service


def sent(slack: Slack) -> list[dict[str, object]]:
    """The messages as Slack was given them."""
    return [item["asked"] for item in slack.fake.posted]


def test_a_message_is_posted_as_markdown(slack: Slack) -> None:
    slack.tools.result(POST, channel="#general", text="**Done**: [order](https://acme.example)")
    assert sent(slack) == [{"channel": GENERAL, "markdown_text": "**Done**: [order](https://acme.example)"}]


def test_structured_content_agrees_with_the_text(slack: Slack) -> None:
    assert slack.tools.result(POST, channel=GENERAL, text="Hi") == {
        "channel": GENERAL,
        "ts": "1794924060.000100",
        "message": "Hi",
        "url": "https://acme.slack.com/archives/C0GENERAL01/p1794924060000100",
    }


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("mrkdwn", {"text": "<@U0ADA000001> a *b* & c"}),
        ("plain", {"text": "&lt;@U0ADA000001&gt; a *b* &amp; c", "mrkdwn": False}),
        ("markdown", {"markdown_text": "<@U0ADA000001> a *b* & c"}),
    ],
)
def test_a_message_can_be_posted_in_three_forms(slack: Slack, form: str, value: dict[str, object]) -> None:
    slack.tools.result(POST, channel_id=GENERAL, message="<@U0ADA000001> a *b* & c", format=form)
    assert sent(slack) == [{"channel": GENERAL, **value}]


def test_a_reply_is_posted_in_its_thread(slack: Slack) -> None:
    slack.tools.result(POST, **REPLY)
    assert sent(slack) == [{"channel": INCIDENTS, "markdown_text": "Thanks!", "thread_ts": OUTAGE}]


def test_a_reply_can_be_shown_in_the_channel_too(slack: Slack) -> None:
    slack.tools.result(POST, **REPLY, reply_broadcast="true")
    assert sent(slack)[0]["reply_broadcast"] is True


@pytest.mark.parametrize(
    "args",
    [
        {"channel": "https://acme.slack.com/archives/C0INCIDENT1/p1794819600000200"},
        {"channel": INCIDENTS, "thread_ts": float(OUTAGE)},  # a number: its last zeros are gone
        {"channel": INCIDENTS, "ts": at(1.2)},  # of a reply: Slack wants the first message of the thread
        {"conversation": "#incidents", "replyTo": "https://acme.slack.com/archives/C0INCIDENT1/p1794819600000200"},
    ],
)
def test_a_reply_finds_its_thread_by_every_form_of_its_address(slack: Slack, args: dict[str, object]) -> None:
    result = slack.tools.result(POST, **args, text="Thanks!")
    assert (result["channel"], result["threadTs"]) == (INCIDENTS, OUTAGE)
    assert sent(slack)[0]["thread_ts"] == OUTAGE


def test_a_reply_to_a_missing_message_is_refused(slack: Slack) -> None:
    slack.tools.failure(POST, "invalid_arguments", **{**REPLY, "threadTs": "1794819600.999999"})
    assert slack.fake.posted == []


@pytest.mark.parametrize("rights", [("chat:write",), ("chat:write", "channels:history")])
def test_a_reply_does_not_need_the_read_scope(slack: Slack, rights: tuple[str, ...]) -> None:
    slack.grant_scopes(*rights)
    slack.tools.result(POST, **REPLY)
    assert sent(slack)[0]["thread_ts"] == OUTAGE


def test_a_reply_does_not_wait_for_the_read_limit(slack: Slack) -> None:
    slack.fake.rate_limit("conversations.replies", seconds=60)
    slack.tools.result(POST, **REPLY)
    assert sent(slack)[0]["thread_ts"] == OUTAGE


@pytest.mark.parametrize(
    ("form", "text"), [("markdown", "x" * 12_000), ("plain", "&" * 8_000), ("mrkdwn", "x" * 40_000)]
)
def test_a_message_of_the_maximum_length_is_posted_completely(slack: Slack, form: str, text: str) -> None:
    slack.tools.result(POST, channel=GENERAL, text=text, format=form)
    too_long = slack.tools.failure(POST, "invalid_arguments", channel=GENERAL, text=f"{text}&", format=form)
    assert "post the first part, then the rest as replies with its `threadTs`" in too_long["text"]
    assert slack.tools.result("slack_get_channel_history", channelId=GENERAL, limit=1)["messages"][0]["content"] == text
    assert len(slack.fake.posted) == 1


@pytest.mark.parametrize(
    ("fault", "posted", "kind"),
    [
        (Fault("busy", retry_after=0), 1, None),
        (Fault("busy", retry_after=60), 0, "rate_limited"),
        (Fault("down"), 0, "upstream_unavailable"),
        (Fault("down", after=True), 1, "upstream_unavailable"),
        (Fault("close"), 0, "upstream_unavailable"),
        (Fault("close", after=True), 1, "upstream_unavailable"),
        (Fault("html", after=True), 1, "upstream_unavailable"),
        (Fault("empty", after=True), 1, "upstream_unavailable"),
        (Fault("array", after=True), 1, "upstream_unavailable"),
        (Fault("text", after=True), 1, "upstream_unavailable"),
        (Fault("redirect", after=True, location="https://slack.com/elsewhere"), 1, "upstream_unavailable"),
        (Fault("huge", after=True), 1, "upstream_unavailable"),
    ],
    ids=lambda value: f"{value.kind}{' after it' if value.after else ''}" if isinstance(value, Fault) else None,
)
def test_nothing_is_posted_twice(slack: Slack, fault: Fault, posted: int, kind: str | None) -> None:
    slack.inject_fault_after_identity(fault)
    result = slack.tools.call(POST, channel=GENERAL, text="Once")
    assert len(slack.fake.posted) == posted
    assert result.get("error", {}).get("kind") == kind


@pytest.mark.parametrize(
    ("error", "is_done", "posted", "kind"),
    [
        ("internal_error", True, 1, "upstream_unavailable"),
        ("fatal_error", False, 0, "upstream_unavailable"),
        ("service_unavailable", True, 1, "upstream_unavailable"),
        ("request_timeout", False, 1, None),  # Slack got a part of it, and that is not a message
        ("ratelimited", False, 1, None),
        ("some_new_error", False, 0, "upstream_refused"),
    ],
)
def test_nothing_is_posted_twice_after_any_error_of_slack(
    slack: Slack, error: str, is_done: bool, posted: int, kind: str | None
) -> None:
    slack.fake.inject_error("chat.postMessage", error, done=is_done)
    result = slack.tools.call(POST, channel=GENERAL, text="Once")
    assert len(slack.fake.posted) == posted
    assert result.get("error", {}).get("kind") == kind


def test_a_post_succeeds_though_the_response_has_no_message(slack: Slack) -> None:
    slack.fake.on_next("chat.postMessage", lambda work: (work(), json_response({"ok": True}))[1])
    result = slack.tools.result(POST, channel=GENERAL, text="Hi")
    assert result == {"channel": GENERAL, "ts": "", "url": "https://acme.slack.com/archives/C0GENERAL01"}


def test_a_lone_surrogate_in_the_response_does_not_fail_a_post(slack: Slack) -> None:
    slack.fake.on_next("chat.postMessage", halved)
    assert slack.tools.result(POST, channel=GENERAL, text="Hi")["message"] == "Hi �"
    assert len(slack.fake.posted) == 1
