from collections.abc import Iterator

import pytest

from api.kit.egress.policy import EgressPolicy
from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.fakes.upstream_host import UpstreamHost
from tests.harness import Plugboard, listening, served
from tests.toolbox.toolbox_client import ToolboxClient

AT_HOME = EgressPolicy.parse("127.0.0.1/32")


@pytest.fixture(scope="session")
def upstream_host() -> Iterator[UpstreamHost]:
    host = UpstreamHost()
    with listening(host) as url:
        host.url = url
        yield host


@pytest.fixture(scope="session")
def connected(upstream_host: UpstreamHost, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:  # noqa: ARG001  last
    """A Plugboard whose upstreams may be on 127.0.0.1; each test has a workspace of its own in it."""
    with served(Settings(data_dir=tmp_path_factory.mktemp("connected"), egress=AT_HOME)) as plugboard:
        yield plugboard


@pytest.fixture
def toolbox(connected: Plugboard, upstream_host: UpstreamHost) -> ToolboxClient:
    return ToolboxClient(connected.make_workspace(), upstream_host)


@pytest.fixture(scope="session")
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(scope="session")
def timed(
    upstream_host: UpstreamHost,  # noqa: ARG001  to be stopped last
    tmp_path_factory: pytest.TempPathFactory,
    clock: StillClock,
) -> Iterator[Plugboard]:
    """The same, but its time passes only when a test says so."""
    with served(Settings(data_dir=tmp_path_factory.mktemp("timed"), egress=AT_HOME), clock) as plugboard:
        yield plugboard


@pytest.fixture
def timed_toolbox(timed: Plugboard, upstream_host: UpstreamHost) -> ToolboxClient:
    return ToolboxClient(timed.make_workspace(), upstream_host)
