from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import OAuthProvider, oauth_provider


@pytest.fixture(scope="module")
def shared() -> Iterator[OAuthProvider]:
    with oauth_provider() as server:
        yield server
