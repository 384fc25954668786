from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import Fault, Server
from demo.services.notion.data import PLAN
from tests.harness import Plugboard
from tests.toolkits.notion.connected_notion import QUERY, READ, SEARCH, Notion, connected_notion
from tests.toolkits.notion.notion_texts import TEXTS

RIGHT = {case.tool: case.meant for case in TEXTS.cases}


@pytest.fixture
def notion(plugboard: Plugboard, provider: Server) -> Iterator[Notion]:
    with connected_notion(plugboard, provider) as found:
        yield found


@pytest.mark.parametrize("tool", RIGHT)
def test_a_short_rate_limit_is_waited_out(notion: Notion, tool: str) -> None:
    notion.world.limit(seconds=int(tool == READ))

    assert notion.desk.call(tool, **RIGHT[tool])["isError"] is False


def test_a_read_is_retried_after_a_lost_response(notion: Notion) -> None:
    reads = {tool: RIGHT[tool] for tool in (READ, SEARCH, QUERY)}
    notion.tenant.fault("api", Fault("close", after=True), times=len(reads))

    assert [called["isError"] for called in notion.desk.together(reads).values()] == [False] * len(reads)
    assert [each.status for each in notion.tenant.asked("api")].count(None) == len(reads)


@pytest.mark.parametrize("tool", RIGHT)
def test_an_expired_token_is_renewed_during_a_call(notion: Notion, tool: str) -> None:
    notion.desk.call(SEARCH)  # so that there is a token that is taken to be good
    notion.tenant.expire()

    assert notion.desk.call(tool, **RIGHT[tool])["isError"] is False
    assert notion.tenant.counts["refreshes"] == 1


def test_a_connection_removed_at_notion_requires_connecting_again(notion: Notion) -> None:
    notion.desk.call(SEARCH)
    notion.tenant.forget_grants()

    called = notion.desk.failed(READ, "reconnect_required", pageId=PLAN)

    assert "must connect it again" in called["text"]


def test_read_tools_send_only_reads(notion: Notion) -> None:
    notion.world.capabilities = {"read"}
    for tool in (READ, SEARCH, QUERY):
        assert notion.desk.call(tool, **RIGHT[tool])["isError"] is False

    assert notion.world.done == []
