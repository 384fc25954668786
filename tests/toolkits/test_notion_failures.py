from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from tests.fakes.authorization_server import Fault, Server
from tests.fakes.notion_world_data import PLAN, SALARIES, TASKS_SOURCE, WIKI, task_id
from tests.fakes.notion_world_rules import error
from tests.harness import Plugboard
from tests.toolkits.desk import Json
from tests.toolkits.notion_desk import (
    APPEND,
    CREATE,
    CREATE_ROW,
    QUERY,
    READ,
    SEARCH,
    UPDATE,
    UPDATE_ROW,
    Notion,
    approved,
    connected_notion,
)

PASSES = Fault("slow", seconds=0)
RIGHT: dict[str, Json] = {
    READ: {"pageId": PLAN},
    SEARCH: {"query": "launch"},
    CREATE: {"name": "New", "parent": {"page_id": WIKI}},
    UPDATE: {"pageId": PLAN, "archived": True},
    QUERY: {"databaseId": TASKS_SOURCE},
    CREATE_ROW: {"databaseId": TASKS_SOURCE, "properties": {"Task": "New"}},
    UPDATE_ROW: {"pageId": task_id(1), "properties": {"Points": 1}},
    APPEND: {"pageId": PLAN, "content": "New"},
}
WRONG: dict[str, Json] = {
    READ: {"pageId": "the launch plan", "depth": 3},
    SEARCH: {"filter": "block", "pageSize": 500},
    CREATE: {"parent": WIKI, "children": [7]},
    UPDATE: {"pageId": PLAN},
    QUERY: {"filter": "Status is Done"},
    CREATE_ROW: {"databaseId": TASKS_SOURCE, "properties": ["Task", "New"]},
    UPDATE_ROW: {"pageId": task_id(1), "properties": {}},
    APPEND: {"pageId": PLAN, "children": []},
}
NOT_SHARED: dict[str, Json] = {
    READ: {"pageId": SALARIES},
    CREATE: {"name": "New", "parent": {"page_id": SALARIES}},
    UPDATE: {"pageId": SALARIES, "archived": True},
    QUERY: {"databaseId": SALARIES},
    CREATE_ROW: {"databaseId": SALARIES, "properties": {"Task": "New"}},
    UPDATE_ROW: {"pageId": SALARIES, "properties": {"Points": 1}},
    APPEND: {"pageId": SALARIES, "content": "New"},
}
READS_BEFORE = {CREATE: 0, UPDATE: 0, CREATE_ROW: 1, UPDATE_ROW: 2, APPEND: 0}
"""How many requests come before the one that writes."""

Connected = Callable[..., AbstractContextManager[Notion]]


@pytest.fixture
def connected(plugboard: Plugboard, provider: Server) -> Connected:
    """Each time another workspace, and Notion as new."""

    @contextmanager
    def made(*, connect: bool = True, **fields: Any) -> Iterator[Notion]:
        provider.reset()
        with connected_notion(plugboard, provider, connect=connect, **fields) as notion:
            yield notion

    return made


def arguments(notion: Notion, tool: str) -> str:
    return notion.told(tool, **WRONG[tool])


def not_shared(notion: Notion, tool: str) -> str:
    return notion.told(tool, **NOT_SHARED[tool]) if tool in NOT_SHARED else "(It finds nothing then.)\n"


def no_rights(notion: Notion, tool: str) -> str:
    notion.world.capabilities.clear()
    return notion.told(tool, **RIGHT[tool])


def rate_limited(notion: Notion, tool: str) -> str:
    notion.world.limit(seconds=45)
    return notion.told(tool, **RIGHT[tool])


def blocked(notion: Notion, tool: str) -> str:
    notion.world.limit(seconds=None, reason="public_api_request_blocked")
    return notion.told(tool, **RIGHT[tool])


def down(notion: Notion, tool: str) -> str:
    notion.tenant.fault("api", Fault("down"), times=None)
    told = notion.told(tool, **RIGHT[tool])
    notion.tenant.heal()
    return told


def no_json(notion: Notion, tool: str) -> str:
    if tool not in (READ, CREATE, UPDATE, APPEND):  # the others begin with a read, as notion_read does
        return "(As for notion_read.)\n"
    notion.tenant.fault("api", Fault("html"), times=None)
    told = notion.told(tool, **RIGHT[tool])
    notion.tenant.heal()
    return told


def slow(notion: Notion, tool: str) -> str:
    notion.desk.change(timeoutSeconds=1)
    notion.tenant.fault("api", Fault("slow", seconds=5))
    told = notion.told(tool, **RIGHT[tool])
    notion.tenant.release()
    return told


SCENES: dict[str, Callable[[Notion, str], str]] = {
    "arguments that do not fit": arguments,
    "it is not shared": not_shared,
    "the connection lacks a capability": no_rights,
    "Notion wants a long pause": rate_limited,
    "Notion has blocked the connection": blocked,
    "Notion is down": down,
    "Notion answers something else": no_json,
    "Notion is slow": slow,
}


def not_connected(connected: Connected, tool: str) -> str:
    with connected(connect=False) as notion:
        return notion.told(tool, **RIGHT[tool])


def lost(notion: Notion, tool: str) -> str:
    if READS_BEFORE[tool]:
        notion.tenant.fault("api", PASSES, times=READS_BEFORE[tool])
    notion.tenant.fault("api", Fault("close", after=True))
    return notion.told(tool, **RIGHT[tool])


def saved(notion: Notion, tool: str) -> str:
    more = {"retry_guidance": "do_not_retry", "committed_resource_id": task_id(5)}
    notion.world.answers_after.append(error(503, "service_unavailable", "Notion is unavailable.", more))
    return notion.told(tool, **RIGHT[tool])


def unavailable(notion: Notion, tool: str) -> str:
    notion.world.answers_after.append(error(503, "service_unavailable", "Notion is unavailable."))
    return notion.told(tool, **RIGHT[tool])


def full(notion: Notion, tool: str) -> str:
    for _ in range(READS_BEFORE[tool]):
        notion.tenant.fault("api", PASSES)
    more = {"block_limit": {"limit": 1000, "used": 1000}}
    notion.world.answers_after.append(error(403, "restricted_resource", "Block limit reached.", more))
    return notion.told(tool, **RIGHT[tool])


LOST_ANSWERS: dict[str, Callable[[Notion, str], str]] = {
    "the answer is lost": lost,
    "Notion is unavailable, after it has saved": saved,
    "Notion is unavailable, and nobody knows": unavailable,
    "the workspace has no blocks left": full,
}


@pytest.mark.parametrize("tool", RIGHT)
def test_what_a_model_reads_when_a_tool_fails(connected: Connected, tool: str) -> None:
    told = {"not connected": not_connected(connected, tool)}
    for title, scene in SCENES.items():
        with connected() as notion:
            told[title] = scene(notion, tool)
            assert notion.world.done == []

    approved(f"{tool}.failures", told)


@pytest.mark.parametrize("tool", READS_BEFORE)
def test_what_a_model_reads_when_the_answer_to_a_write_is_lost_and_it_is_sent_once(
    connected: Connected, tool: str
) -> None:
    told: dict[str, str] = {}
    for title, scene in LOST_ANSWERS.items():
        with connected() as notion:
            told[title] = scene(notion, tool)
            assert len(notion.world.done) == 1

    approved(f"{tool}.lost", told)


@pytest.mark.parametrize("tool", RIGHT)
def test_a_short_pause_is_made_and_nobody_notices(connected: Connected, tool: str) -> None:
    with connected() as notion:
        notion.world.limit(seconds=int(tool == READ))

        assert notion.desk.call(tool, **RIGHT[tool])["isError"] is False


@pytest.mark.parametrize("tool", [READ, SEARCH, QUERY])
def test_a_read_is_sent_again_when_its_answer_is_lost(connected: Connected, tool: str) -> None:
    with connected() as notion:
        notion.tenant.fault("api", Fault("close", after=True))

        assert notion.desk.call(tool, **RIGHT[tool])["isError"] is False


@pytest.mark.parametrize("tool", RIGHT)
def test_a_token_that_has_ended_is_renewed_in_the_middle_of_a_call(connected: Connected, tool: str) -> None:
    with connected() as notion:
        notion.desk.call(SEARCH)  # so that there is a token that is taken to be good
        notion.tenant.expire()

        assert notion.desk.call(tool, **RIGHT[tool])["isError"] is False
        assert notion.tenant.counts["refreshes"] == 1


def test_a_connection_that_was_removed_at_notion_is_to_be_made_again(connected: Connected) -> None:
    with connected() as notion:
        notion.desk.call(SEARCH)
        notion.tenant.forget_grants()

        called = notion.desk.failed(READ, "reconnect_required", pageId=PLAN)

    assert "has to connect it again" in called["text"]


def test_the_reading_tools_send_nothing_but_reads(connected: Connected) -> None:
    with connected() as notion:
        notion.world.capabilities = {"read"}
        for tool in (READ, SEARCH, QUERY):
            assert notion.desk.call(tool, **RIGHT[tool])["isError"] is False

        assert notion.world.done == []
