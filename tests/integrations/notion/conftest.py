from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import OAuthProvider, oauth_provider
from tests.integrations.notion.notion_tools import NotionTools


@pytest.fixture(scope="session")
def one_notion() -> Iterator[OAuthProvider]:
    with oauth_provider() as server:
        yield server


@pytest.fixture
def notion(one_notion: OAuthProvider) -> NotionTools:
    """As if it had just been started."""
    one_notion.reset()
    return NotionTools.of(one_notion)
