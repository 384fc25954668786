from collections.abc import Iterator
from typing import Any

import pytest

from demo.oauth_provider.server import OAuthProvider
from demo.services.slack.data import (
    ADA,
    BOT,
    GENERAL,
    GRACE,
    INCIDENTS,
    MONDAY,
    OUTAGE,
    at,
    message,
    reply,
)
from tests.harness import Plugboard
from tests.toolkits.slack.connected_slack import READ, Slack, connected_slack
from tests.toolkits.slack.slack_texts import crowd, named


@pytest.fixture
def slack(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Slack]:
    with connected_slack(plugboard, provider) as service:
        yield service


def all_pages(slack: Slack, **args: Any) -> list[list[str]]:
    """The messages of every page."""
    return [[message_["content"] for message_ in page["messages"]] for page in slack.pages(READ, **args)]


def numbered_messages(number: int, length: int = 20) -> list[dict[str, object]]:
    return [message(at(number - each), ADA, f"{each} {'x' * length}") for each in range(number)]


def test_people_have_names_if_the_scope_is_granted(slack: Slack) -> None:
    named(slack)
    slack.tools.result(READ, channelId="#support")
    assert sorted(request.query["user"] for request in slack.requests_of("users.info")) == [ADA, GRACE]


def test_names_are_not_requested_without_the_scope(slack: Slack) -> None:
    slack.tools.result(READ, channelId="#support")
    assert slack.requests_of("users.info") == []


def test_a_failed_name_lookup_loses_only_names(slack: Slack) -> None:
    slack.fake.sends_scopes = False
    result = slack.tools.result(READ, channelId="#support")
    assert [message_["sender"] for message_ in result["messages"]] == [ADA, GRACE, "Helpdesk"]
    assert slack.requests_of("users.info")


def test_rate_limited_names_are_not_waited_for(slack: Slack) -> None:
    named(slack)
    slack.fake.rate_limit("users.info", seconds=60, times=9)
    assert slack.tools.result(READ, channelId="#support")["messages"][0]["sender"] == ADA


def test_the_number_of_name_requests_is_limited(slack: Slack) -> None:
    named(slack)
    slack.fake.messages[GENERAL] = [message(at(number), f"U0MANY{number:05d}", "Hi") for number in range(1, 40)]
    assert len(slack.tools.result(READ, channelId=GENERAL)["messages"]) == 39
    assert len(slack.requests_of("users.info")) <= 25


def test_a_channel_is_found_by_name_among_many(slack: Slack) -> None:
    slack.fake.channels, slack.fake.messages["C0CROWD0449"] = crowd(450), [message(at(1), ADA, "Found")]
    assert slack.tools.result(READ, channelId="#crowd-449")["messages"][0]["content"] == "Found"


def test_a_message_with_an_authors_name_needs_no_lookup(slack: Slack) -> None:
    profile = {"real_name": "Ada Lovelace", "display_name": "ada"}
    slack.fake.messages[GENERAL] = [message(at(1), ADA, "Hi", user_profile=profile)]
    assert slack.tools.result(READ, channelId="#general")["messages"][0]["sender"] == "ada"


@pytest.mark.parametrize(
    "args",
    [
        {"channel": INCIDENTS, "thread_ts": OUTAGE},
        {"channel_id": "#incidents", "ts": float(OUTAGE)},  # a number: its last zeros are gone
        {"id": INCIDENTS, "threadTs": "1794819600.0002"},
        {"channelId": INCIDENTS, "threadTs": "https://acme.slack.com/archives/C0INCIDENT1/p1794819600000200"},
        {"channelId": "https://acme.slack.com/archives/C0INCIDENT1/p1794819600000200"},
        {
            "channelId": f"https://acme.slack.com/archives/C0INCIDENT1/p1794819960000100?thread_ts={OUTAGE}&cid=C0INCIDENT1"
        },
        {"channelId": "<#C0INCIDENT1|incidents>", "message_ts": "p1794819600000200"},
    ],
)
def test_a_thread_is_found_by_every_form_of_its_address(slack: Slack, args: dict[str, object]) -> None:
    result = slack.tools.result(READ, **args)
    assert [message_["ts"] for message_ in result["messages"]] == [OUTAGE, at(1.1), at(1.2), at(1.5)]


def test_a_channel_is_paged_to_its_end(slack: Slack) -> None:
    slack.fake.messages[GENERAL] = numbered_messages(25)
    pages = all_pages(slack, channelId=GENERAL, limit=10)
    assert [len(page) for page in pages] == [10, 10, 5]
    assert [int(item.split()[0]) for page in pages for item in page] == list(range(25))


def test_a_thread_is_paged_without_duplicates(slack: Slack) -> None:
    slack.fake.messages[GENERAL] = [
        message(at(1), ADA, "root", thread_ts=at(1), reply_count=25),
        *(reply(at(2 + number), GRACE, str(number), at(1)) for number in range(25)),
    ]
    pages = all_pages(slack, channelId=GENERAL, threadTs=at(1), limit=10)
    assert [item for page in pages for item in page] == ["root", *map(str, range(25))]


def test_an_app_limited_to_fifteen_messages_learns_that_there_are_more(slack: Slack) -> None:
    slack.fake.is_marketplace_app = False
    slack.fake.messages[GENERAL] = numbered_messages(20)
    assert [len(page) for page in all_pages(slack, channelId=GENERAL)] == [15, 5]


def test_one_call_reads_one_page(slack: Slack) -> None:
    slack.fake.messages[GENERAL] = numbered_messages(900)
    slack.tools.result(READ, channelId=GENERAL, limit=50)
    assert slack.methods() == ["auth.test", "conversations.history"]


@pytest.mark.parametrize(
    ("args", "hours"),
    [
        ({"oldest": "2026-11-16T12:00:00Z"}, [6, 5, 4]),
        ({"since": "2026-11-16T13:00:00+01:00"}, [6, 5, 4]),
        ({"oldest": at(4), "latest": at(5)}, [5, 4]),
        ({"latest": MONDAY + 2 * 3600}, [1]),
        ({"until": str(MONDAY + 2 * 3600)}, [1]),
        ({"oldest": "2026-11-17"}, []),
    ],
)
def test_a_time_is_accepted_in_many_forms(slack: Slack, args: dict[str, object], hours: list[int]) -> None:
    slack.fake.messages[GENERAL] = [message(at(number), ADA, str(number)) for number in range(1, 7)]
    result = slack.tools.result(READ, channelId=GENERAL, **args)
    assert [int(message_["content"]) for message_ in result["messages"]] == hours


@pytest.mark.parametrize("more", [{}, {"full": True}])
def test_many_long_messages_are_returned_in_readable_parts(slack: Slack, more: dict[str, bool]) -> None:
    slack.fake.messages[GENERAL] = numbered_messages(120, length=1500)
    items = slack.all_items(READ, "messages", channelId=GENERAL, limit=999, **more)
    assert [int(item["content"].split()[0]) for item in items] == list(range(120))


def test_a_long_thread_in_parts_repeats_and_loses_nothing(slack: Slack) -> None:
    slack.fake.messages[GENERAL] = [
        message(at(1), ADA, "root", thread_ts=at(1)),
        *(reply(at(2 + number), GRACE, f"{number} {'x' * 1500}", at(1)) for number in range(60)),
    ]
    results = [item.split()[0] for page in all_pages(slack, channelId=GENERAL, threadTs=at(1)) for item in page]
    assert results == ["root", *map(str, range(60))]


def test_a_very_long_message_is_cut_and_can_be_read_separately(slack: Slack) -> None:
    slack.fake.messages[GENERAL] = [message(at(number), ADA, f"{number} " + "word " * 7000) for number in range(1, 30)]
    result = slack.tools.call(READ, channelId=GENERAL)
    first = result["structuredContent"]["messages"][0]
    assert first["content"].endswith(f'[33,002 more characters: read it alone with `limit` 1 and `latest` "{at(29)}"]')
    alone = slack.tools.result(READ, channelId=GENERAL, limit=1, latest=at(29))
    assert len(alone["messages"][0]["content"]) == 35_002


def test_a_full_message_is_slacks_original_object(slack: Slack) -> None:
    result = slack.tools.result(READ, channelId=INCIDENTS, full=True, limit=1)
    assert result["messages"][0]["full"]["team"] == "T0ACME00001"


def test_posts_of_the_bot_carry_its_name(slack: Slack) -> None:
    slack.tools.result("slack_post_message", channel=GENERAL, text="Hello")
    first = slack.tools.result(READ, channelId=GENERAL)["messages"][0]
    assert (first["sender"], first["senderId"], first["content"]) == ("plugboard", BOT, "Hello")
