from collections.abc import Iterator

import pytest

from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider, oauth_provider
from tests.connections.tokens.refresh_pool import (
    Pool,
    RefreshEnvironment,
    on_dynamodb,
    on_postgres,
    open_environment,
    open_pool,
)
from tests.fakes.postgres import PostgresServer
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, served


@pytest.fixture(scope="module")
def one_provider() -> Iterator[OAuthProvider]:
    with oauth_provider() as server:
        yield server


@pytest.fixture
def provider(one_provider: OAuthProvider) -> OAuthProvider:
    """As if it had just been started."""
    one_provider.reset()
    return one_provider


@pytest.fixture(scope="module")
def one_plugboard(one_provider: OAuthProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:
    """It takes the provider for all four services."""
    data_dir = tmp_path_factory.mktemp("connections")
    environment = one_provider.environment() | {"PLUGBOARD_DATA_DIR": str(data_dir)}
    with served(Settings.from_environment(environment)) as plugboard:
        yield plugboard


@pytest.fixture
def plugboard(one_plugboard: Plugboard, provider: OAuthProvider) -> Plugboard:  # noqa: ARG001  it is to be as new
    return one_plugboard


@pytest.fixture(scope="module")
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(scope="module")
def one_timed(
    one_provider: OAuthProvider, tmp_path_factory: pytest.TempPathFactory, clock: StillClock
) -> Iterator[Plugboard]:
    environment = one_provider.environment() | {"PLUGBOARD_DATA_DIR": str(tmp_path_factory.mktemp("timed"))}
    with served(Settings.from_environment(environment), clock) as plugboard:
        yield plugboard


@pytest.fixture
def timed(one_timed: Plugboard, provider: OAuthProvider) -> Plugboard:  # noqa: ARG001
    """The same, but its time passes only when a test says so."""
    return one_timed


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Processes that renew tokens, each by itself, in the stages below."""
    with open_pool() as pool:
        yield pool


@pytest.fixture(scope="module")
def sqlite(one_provider: OAuthProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RefreshEnvironment]:
    with open_environment(one_provider, PLUGBOARD_DATA_DIR=str(tmp_path_factory.mktemp("processes"))) as stage:
        yield stage


@pytest.fixture(scope="module")
def dynamodb(one_provider: OAuthProvider, dynoxide: str) -> Iterator[RefreshEnvironment]:
    with on_dynamodb(one_provider, dynoxide) as stage:
        yield stage


@pytest.fixture(scope="module")
def postgresql(one_provider: OAuthProvider, postgres: PostgresServer) -> Iterator[RefreshEnvironment]:
    with on_postgres(one_provider, postgres) as stage:
        yield stage
