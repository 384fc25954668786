import gc
from collections.abc import Generator, Iterator

import hypothesis
import pytest

from api.kit.crypto.secret import Secret
from api.main.settings import Settings
from tests.fakes.dynamodb import (
    NO_DYNOXIDE,
    aws_access,
    dynoxide_endpoint,
    dynoxide_is_installed,
    moto_process,
    new_table,
)
from tests.harness import Plugboard, Workspace, served

# An example may take this long by the clock, which also measures what else the machine does. Tests of speed measure
# the CPU time.
hypothesis.settings.register_profile("patient", deadline=5000)
hypothesis.settings.load_profile("patient")

ROOT_KEY = "test:bHVrzZ1Yp0b6mYtqv3cJx8Q9sWfKd2RgTnUoAiEhLjM="


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests stay where they are, and need not be looked through at each collection of garbage.

    Collections are rarer, too: what a test leaves behind is small.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 10, 10)
        gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def moto_server() -> Iterator[str]:
    with aws_access(), moto_process() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def dynoxide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not dynoxide_is_installed():
        pytest.skip(NO_DYNOXIDE)
    with aws_access(), dynoxide_endpoint(tmp_path_factory.mktemp("dynoxide") / "tables.db") as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:
    """A Plugboard on SQLite that the tests of a run share; each has workspaces of its own in it."""
    with served(Settings(data_dir=tmp_path_factory.mktemp("plugboard"))) as plugboard:
        yield plugboard


@pytest.fixture(scope="session")
def on_moto(moto_server: str) -> Iterator[Plugboard]:
    with served(_on_dynamodb(moto_server)) as plugboard:
        yield plugboard


@pytest.fixture(scope="session")
def on_dynoxide(dynoxide: str) -> Iterator[Plugboard]:
    with served(_on_dynamodb(dynoxide)) as plugboard:
        yield plugboard


@pytest.fixture
def plugboard(on_sqlite: Plugboard) -> Plugboard:
    return on_sqlite


@pytest.fixture(params=["sqlite", "moto", "dynoxide"])
def any_plugboard(request: pytest.FixtureRequest) -> Plugboard:
    """For what has to hold on every store."""
    result: Plugboard = request.getfixturevalue(f"on_{request.param}")
    return result


@pytest.fixture
def workspace(plugboard: Plugboard) -> Workspace:
    return plugboard.make_workspace()


@pytest.fixture
def any_workspace(any_plugboard: Plugboard) -> Workspace:
    return any_plugboard.make_workspace()


def _on_dynamodb(endpoint: str) -> Settings:
    return Settings(store="dynamodb", table=new_table(endpoint), dynamodb_endpoint=endpoint, root_key=Secret(ROOT_KEY))
