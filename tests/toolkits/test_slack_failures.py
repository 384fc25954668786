"""What every tool of Slack has to tell in the same way."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.authorization_server import Fault, Server
from tests.fakes.authorization_wire import Answer
from tests.fakes.slack_world_data import GENERAL
from tests.harness import Plugboard
from tests.toolkits.desk import ToolDesk
from tests.toolkits.slack_desk import LIST, POST, READ, Slack, connected_slack

CALLS = [
    pytest.param(LIST, "conversations.list", {}, id="list"),
    pytest.param(READ, "conversations.history", {"channelId": GENERAL}, id="read"),
    pytest.param(POST, "chat.postMessage", {"channel": GENERAL, "text": "Hi"}, id="post"),
]
READS = CALLS[:2]


@pytest.fixture
def slack(plugboard: Plugboard, provider: Server) -> Iterator[Slack]:
    with connected_slack(plugboard, provider) as found:
        yield found


@pytest.fixture
def rotating(plugboard: Plugboard, provider: Server) -> Iterator[Slack]:
    """Of an app that has token rotation on."""
    with connected_slack(plugboard, provider, rotates=True) as found:
        yield found


def expire_first(slack: Slack, work: Any) -> Answer:
    slack.tenant.expire()
    answer: Answer = work()
    return answer


@pytest.mark.parametrize(("tool", "_", "args"), CALLS)
def test_before_it_is_connected(
    plugboard: Plugboard, provider: Server, tool: str, _: str, args: dict[str, Any]
) -> None:
    with connected_slack(plugboard, provider, connect=False) as slack:
        slack.approve(tool, "not connected", slack.told(tool, **args))
        assert slack.methods() == []


@pytest.mark.parametrize(("tool", "_", "args"), CALLS)
def test_after_somebody_has_removed_the_app(slack: Slack, tool: str, _: str, args: dict[str, Any]) -> None:
    slack.tenant.forget_grants()
    slack.approve(tool, "ended", slack.told(tool, **args))


@pytest.mark.parametrize(("tool", "_", "args"), CALLS)
def test_without_the_right(slack: Slack, tool: str, _: str, args: dict[str, Any]) -> None:
    slack.grant("emoji:read", "users:read")
    slack.approve(tool, "missing rights", slack.told(tool, **args))
    assert slack.world.posted == []


@pytest.mark.parametrize(("tool", "method", "args"), CALLS)
def test_when_asked_too_often(slack: Slack, tool: str, method: str, args: dict[str, Any]) -> None:
    slack.world.limit(method, seconds=60)
    slack.approve(tool, "rate limited", slack.told(tool, **args))
    assert len(slack.asked(method)) == 1


@pytest.mark.parametrize(("tool", "method", "args"), CALLS)
def test_a_short_wait_is_waited_for(slack: Slack, tool: str, method: str, args: dict[str, Any]) -> None:
    slack.world.limit(method, seconds=0, times=2)
    slack.desk.found(tool, **args)
    assert len(slack.asked(method)) == 3


@pytest.mark.parametrize(("tool", "method", "args"), READS)
def test_a_read_is_asked_again(slack: Slack, tool: str, method: str, args: dict[str, Any]) -> None:
    slack.second(Fault("down"))
    slack.desk.found(tool, **args)
    assert len(slack.asked(method)) == 2


@pytest.mark.parametrize(("tool", "_", "args"), CALLS)
def test_while_slack_is_down(slack: Slack, tool: str, _: str, args: dict[str, Any]) -> None:
    slack.desk.change(timeoutSeconds=2)
    told = list[str]()
    for fault in (Fault("down"), Fault("html"), Fault("close"), Fault("huge")):
        slack.tenant.fault("api", fault)
        told.append(slack.told(tool, **args))
    slack.approve(tool, "down", *told)
    assert slack.world.posted == []


@pytest.mark.parametrize(("tool", "_", "args"), CALLS)
def test_while_slack_is_slow(slack: Slack, tool: str, _: str, args: dict[str, Any]) -> None:
    slack.desk.change(timeoutSeconds=1)
    slack.tenant.fault("api", Fault("slow", seconds=5))
    slack.approve(tool, "slow", slack.told(tool, **args))
    assert slack.world.posted == []


@pytest.mark.parametrize(("tool", "method", "args"), CALLS)
def test_a_token_that_ends_in_the_middle_is_not_noticed(
    rotating: Slack, tool: str, method: str, args: dict[str, Any]
) -> None:
    rotating.world.then(method, lambda work: expire_first(rotating, work))
    rotating.desk.found(tool, **args)
    assert rotating.tenant.counts["refreshes"] == 1
    assert len(rotating.world.posted) == (tool == POST)


def test_a_token_that_ends_between_pages_is_not_noticed(rotating: Slack) -> None:
    rotating.world.channels = rotating.world.channels * 40
    rotating.world.then("conversations.list", lambda work: work(), lambda work: expire_first(rotating, work))
    assert len(rotating.desk.found(LIST, limit=1000, query="incident")["channels"]) == 40


def test_while_the_workspace_moves_nothing_is_taken_for_an_end(slack: Slack) -> None:
    slack.world.refuse("conversations.list", "team_added_to_org")
    slack.approve(LIST, "moving", slack.told(LIST))
    slack.desk.found(LIST)


def test_two_slacks_of_one_name_are_told_apart(slack: Slack) -> None:
    workspace, agent = slack.desk.workspace, f"{slack.desk.workspace.agents}/{slack.desk.agent}"
    made = workspace.make_server(name="Acme", serviceType="slack", authType="oauth", url=None, config={})
    other = ToolDesk(workspace, made["id"], made["slug"], slack.desk.agent)
    other.connect()
    workspace.admin.put(agent, json={"enabledMcpServerIds": [slack.desk.server, other.server]})
    names = {desk.name(tool) for desk in (slack.desk, other) for tool in (LIST, READ, POST)}
    assert len(names) == 6
    assert slack.desk.listed().keys() == names
    assert slack.desk.found(LIST) == other.found(LIST)
    workspace.admin.put(agent, json={"enabledMcpServerIds": [other.server]})
    assert other.listed().keys() == {other.name(tool) for tool in (LIST, READ, POST)}
