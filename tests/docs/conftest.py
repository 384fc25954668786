from collections.abc import Iterator
from pathlib import Path

import pytest

from api.kit.egress.policy import EgressPolicy
from api.main.settings import Settings
from tests.docs.reader import DEMO_AT, Reader, no_names, weather_server
from tests.harness import served


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """Has a Plugboard and the demo running."""
    settings = Settings(data_dir=tmp_path / "var", egress=EgressPolicy.parse("127.0.0.1/32"))
    with weather_server() as url, served(settings, lookup=no_names) as plugboard:
        yield Reader(plugboard.make_workspace(), tmp_path, {DEMO_AT: url})
