"""What every tool of Slack has to tell in the same way."""

from collections.abc import Iterator
from typing import Any

import pytest

from demo.oauth_provider.http import Response
from demo.oauth_provider.server import Fault, OAuthProvider
from demo.services.slack.data import GENERAL
from tests.harness import Plugboard
from tests.toolkits.scenes import Scene, SceneCall
from tests.toolkits.slack.connected_slack import LIST, POST, READ, Slack, connected_slack
from tests.toolkits.slack.slack_texts import TEXTS

CALLS = [
    pytest.param(LIST, "conversations.list", {}, id="list"),
    pytest.param(READ, "conversations.history", {"channelId": GENERAL}, id="read"),
    pytest.param(POST, "chat.postMessage", {"channel": GENERAL, "text": "Hi"}, id="post"),
]
READS = CALLS[:2]


@pytest.fixture
def slack(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Slack]:
    with connected_slack(plugboard, provider) as service:
        yield service


@pytest.fixture
def rotating(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Slack]:
    """Of an app that has token rotation on."""
    provider.tenant("slack").configure(gives_refresh=True, access_life=43200.0, expires_in=43200.0)
    with connected_slack(plugboard, provider) as service:
        yield service


def expire_first(slack: Slack, work: Any) -> Response:
    slack.tenant.expire_tokens()
    answer: Response = work()
    return answer


@pytest.mark.parametrize(("tool", "method", "args"), CALLS)
def test_a_long_rate_limit_is_reported_without_a_retry(
    slack: Slack, tool: str, method: str, args: dict[str, Any]
) -> None:
    slack.fake.rate_limit(method, seconds=60)
    slack.tools.failure(tool, "rate_limited", **args)
    assert len(slack.requests_of(method)) == 1


def test_invalid_arguments_are_refused_without_a_request(slack: Slack) -> None:
    wrong = [
        (case.tool, ask) for case in TEXTS.cases for title, ask in case.calls.items() if f"{Scene.WRONG}, " in title
    ]
    for tool, ask in wrong:
        slack.tools.failure(tool, "invalid_arguments", **(ask.args if isinstance(ask, SceneCall) else ask))
    assert len(wrong) > len(CALLS)
    assert slack.methods() == []


@pytest.mark.parametrize(("tool", "method", "args"), CALLS)
def test_a_short_rate_limit_is_waited_out(slack: Slack, tool: str, method: str, args: dict[str, Any]) -> None:
    slack.fake.rate_limit(method, seconds=0, times=2)
    slack.tools.result(tool, **args)
    assert len(slack.requests_of(method)) == 3


@pytest.mark.parametrize(("tool", "method", "args"), READS)
def test_a_failed_read_is_retried(slack: Slack, tool: str, method: str, args: dict[str, Any]) -> None:
    slack.inject_fault_after_identity(Fault("down"))
    slack.tools.result(tool, **args)
    assert len(slack.requests_of(method)) == 2


@pytest.mark.parametrize(("tool", "method", "args"), CALLS)
def test_a_token_that_expires_during_a_call_is_renewed(
    rotating: Slack, tool: str, method: str, args: dict[str, Any]
) -> None:
    rotating.fake.on_next(method, lambda work: expire_first(rotating, work))
    rotating.tools.result(tool, **args)
    assert rotating.tenant.counts["refreshes"] == 1
    assert len(rotating.fake.posted) == (tool == POST)


def test_a_token_that_expires_between_pages_is_renewed(rotating: Slack) -> None:
    rotating.fake.channels = rotating.fake.channels * 40
    rotating.fake.on_next("conversations.list", lambda work: work(), lambda work: expire_first(rotating, work))
    assert len(rotating.tools.result(LIST, limit=1000, query="incident")["channels"]) == 40


def test_a_workspace_migration_does_not_end_a_list(slack: Slack) -> None:
    slack.fake.inject_error("conversations.list", "team_added_to_org")
    slack.tools.failure(LIST, "upstream_unavailable")
    slack.tools.result(LIST)


def test_tools_of_two_slack_servers_with_one_name_stay_distinct(slack: Slack) -> None:
    other = slack.tools.another("slack")
    slack.tools.enable(slack.tools, other)
    names = {desk.name(tool) for desk in (slack.tools, other) for tool in (LIST, READ, POST)}
    assert len(names) == 6
    assert slack.tools.list_tools().keys() == names
    assert slack.tools.result(LIST) == other.result(LIST)
    slack.tools.enable(other)
    assert other.list_tools().keys() == {other.name(tool) for tool in (LIST, READ, POST)}
