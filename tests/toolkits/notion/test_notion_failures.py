from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import Fault, OAuthProvider
from demo.services.notion.data import PLAN
from tests.harness import Plugboard
from tests.toolkits.notion.connected_notion import QUERY, READ, SEARCH, Notion, connected_notion
from tests.toolkits.notion.notion_texts import TEXTS

RIGHT = {case.tool: case.valid_arguments for case in TEXTS.cases}


@pytest.fixture
def notion(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Notion]:
    with connected_notion(plugboard, provider) as service:
        yield service


@pytest.mark.parametrize("tool", RIGHT)
def test_a_short_rate_limit_is_waited_out(notion: Notion, tool: str) -> None:
    notion.fake.rate_limit(seconds=int(tool == READ))

    assert notion.tools.call(tool, **RIGHT[tool])["isError"] is False


def test_a_read_is_retried_after_a_lost_response(notion: Notion) -> None:
    reads = {tool: RIGHT[tool] for tool in (READ, SEARCH, QUERY)}
    notion.tenant.inject_fault("api", Fault("close", after=True), times=len(reads))

    assert [called["isError"] for called in notion.tools.call_concurrently(reads).values()] == [False] * len(reads)
    assert [request.status for request in notion.tenant.requests_to("api")].count(None) == len(reads)


@pytest.mark.parametrize("tool", RIGHT)
def test_an_expired_token_is_renewed_during_a_call(notion: Notion, tool: str) -> None:
    notion.tools.call(SEARCH)  # so that there is a token that is taken to be good
    notion.tenant.expire_tokens()

    assert notion.tools.call(tool, **RIGHT[tool])["isError"] is False
    assert notion.tenant.counts["refreshes"] == 1


def test_a_connection_removed_at_notion_requires_connecting_again(notion: Notion) -> None:
    notion.tools.call(SEARCH)
    notion.tenant.revoke_grants()

    result = notion.tools.failure(READ, "reconnect_required", pageId=PLAN)

    assert "must connect it again" in result["text"]


def test_read_tools_send_only_reads(notion: Notion) -> None:
    notion.fake.capabilities = {"read"}
    for tool in (READ, SEARCH, QUERY):
        assert notion.tools.call(tool, **RIGHT[tool])["isError"] is False

    assert notion.fake.writes_done == []
