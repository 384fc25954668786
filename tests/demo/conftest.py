from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import Server, authorization_server


@pytest.fixture(scope="module")
def shared() -> Iterator[Server]:
    with authorization_server() as server:
        yield server
