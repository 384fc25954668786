from collections.abc import Iterator

import pytest

from api.main.settings import Settings
from tests.harness import Plugboard, served
from tests.operations import APPS


@pytest.fixture(scope="session")
def plugboard_with_notion(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:
    """A Plugboard whose operator has set up a service, so that every operation can be carried out."""
    with served(Settings(data_dir=tmp_path_factory.mktemp("with notion"), oauth_apps=APPS)) as plugboard:
        yield plugboard
