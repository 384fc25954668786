from collections.abc import Iterator
from typing import Any

import pytest

from demo.oauth_provider.server import OAuthProvider
from tests.harness import Plugboard
from tests.toolkits.slack.connected_slack import LIST, Slack, connected_slack
from tests.toolkits.slack.slack_texts import crowd


@pytest.fixture
def slack(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Slack]:
    with connected_slack(plugboard, provider) as service:
        yield service


def all_pages(slack: Slack, **args: Any) -> list[list[str]]:
    """The IDs of every page, to the end."""
    return [[channel["id"] for channel in page["channels"]] for page in slack.pages(LIST, **args)]


def test_structured_content_agrees_with_the_text(slack: Slack) -> None:
    result = slack.tools.result(LIST, query="down")
    assert result == {
        "channels": [
            {
                "id": "C0INCIDENT1",
                "name": "incidents",
                "isPrivate": True,
                "isMember": True,
                "members": 5,
                "purpose": "When something is down",
                "url": "https://acme.slack.com/archives/C0INCIDENT1",
            }
        ]
    }


def test_paging_lists_every_channel_once(slack: Slack) -> None:
    slack.fake.channels += crowd(230)
    pages = all_pages(slack, limit=90)
    assert [len(page) for page in pages] == [90, 90, 56]
    assert len({item for page in pages for item in page}) == 236


def test_empty_pages_of_slack_are_skipped(slack: Slack) -> None:
    slack.fake.channels = crowd(450, is_private=True, is_member=False) + slack.fake.channels
    assert all_pages(slack) == [
        ["C0GENERAL01", "C0RANDOM001", "C0SUPPORT01", "C0INCIDENT1", "C0NEWS00001", "C0LAUNCH001"]
    ]
    requested = slack.requests_of("conversations.list")
    assert len(requested) == 3
    assert {(item.query["types"], item.query["exclude_archived"]) for item in requested} == {
        ("public_channel,private_channel", "true")
    }


def test_a_search_too_long_for_one_call_continues_in_the_next(slack: Slack) -> None:
    slack.fake.channels = crowd(1700) + slack.fake.channels
    assert all_pages(slack, query="incidents") == [[], ["C0INCIDENT1"]]


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("#support", ["support"]),
        ("helpdesk", ["support"]),  # as it was called before
        ("SUPPORT customers", ["support"]),
        ("launch plan", ["launch-2027"]),
    ],
)
def test_a_search_covers_names_topics_and_purposes(slack: Slack, query: str, texts: list[str]) -> None:
    assert [channel["name"] for channel in slack.tools.result(LIST, search=query)["channels"]] == texts


def test_channels_can_be_limited_to_those_of_the_bot(slack: Slack) -> None:
    result = slack.tools.result(LIST, member_only="true", include_archived=True)["channels"]
    assert [item["name"] for item in result] == [
        "general",
        "support",
        "incidents",
        "announcements",
        "launch-2027",
        "old-shop",
    ]
    assert all(item["isMember"] for item in result)
    assert slack.methods() == ["auth.test", "users.conversations"]


def test_a_full_channel_is_slacks_original_object(slack: Slack) -> None:
    assert slack.tools.result(LIST, full=True, query="incidents")["channels"][0]["full"]["creator"] == "U0ADA000001"


@pytest.mark.parametrize("more", [{}, {"full": True}])
def test_a_thousand_channels_are_returned_in_readable_parts(slack: Slack, more: dict[str, bool]) -> None:
    slack.fake.channels = crowd(300)
    items = slack.all_items(LIST, "channels", limit=1000, **more)
    assert [item["id"] for item in items] == [f"C0CROWD{number:04d}" for number in range(300)]


def test_a_rate_limit_midway_leaves_the_rest_to_the_next_page(slack: Slack) -> None:
    slack.fake.channels += crowd(300)
    slack.fake.on_next("conversations.list", lambda work: work())
    slack.fake.rate_limit("conversations.list", seconds=60)
    result = slack.tools.result(LIST, query="crowd-29")
    assert [channel["name"] for channel in result["channels"]] == ["crowd-29"]
    rest = slack.tools.result(LIST, query="crowd-29", cursor=result["nextCursor"])
    assert [channel["name"] for channel in rest["channels"]] == [f"crowd-{number}" for number in range(290, 300)]
