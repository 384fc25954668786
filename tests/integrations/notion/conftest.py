from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import Server, authorization_server
from tests.integrations.notion.notion_tools import AtHand


@pytest.fixture(scope="session")
def one_notion() -> Iterator[Server]:
    with authorization_server() as server:
        yield server


@pytest.fixture
def notion(one_notion: Server) -> AtHand:
    """As if it had just been started."""
    one_notion.reset()
    return AtHand.of(one_notion)
