from collections.abc import Iterator

import pytest

from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider, oauth_provider
from tests.harness import Plugboard, served


@pytest.fixture(scope="session")
def one_provider() -> Iterator[OAuthProvider]:
    with oauth_provider() as server:
        yield server


@pytest.fixture
def provider(one_provider: OAuthProvider) -> OAuthProvider:
    """As if it had just been started, worlds and all."""
    one_provider.reset()
    return one_provider


@pytest.fixture(scope="session")
def one_plugboard(one_provider: OAuthProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:
    """It takes the provider for all services."""
    environment = one_provider.environment() | {
        "PLUGBOARD_DATA_DIR": str(tmp_path_factory.mktemp("toolkits")),
    }
    with served(Settings.from_environment(environment)) as plugboard:
        yield plugboard


@pytest.fixture
def plugboard(one_plugboard: Plugboard, provider: OAuthProvider) -> Plugboard:  # noqa: ARG001  it is to be as new
    return one_plugboard
