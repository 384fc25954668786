from collections.abc import Iterator

import pytest

from tests.e2e.process import serving
from tests.real.catalogue import SERVERS, RealServer, Running, named, running
from tests.real.rest_client import RestClient


@pytest.fixture(scope="session", params=SERVERS, ids=named)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Each server in turn, started once for all tests of it."""
    server: RealServer = request.param
    with running(server, tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestClient]:
    folder = tmp_path_factory.mktemp("plugboard") / "var"
    with serving(folder, PLUGBOARD_EGRESS_ALLOW="127.0.0.1/32") as process, process.caller(process.key()) as admin:
        yield RestClient(admin, f"/api/workspaces/{process.workspace_id()}")
