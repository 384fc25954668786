from collections.abc import Iterator

import pytest

from api.main.settings import Settings
from tests.harness import served
from tests.http.operations_on_workspace import PopulatedWorkspace
from tests.operations import APPS


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PopulatedWorkspace]:
    """For tests that change nothing: a workspace with one of everything in it, shared by all of them."""
    with served(Settings(data_dir=tmp_path_factory.mktemp("world"), oauth_apps=APPS)) as plugboard:
        yield PopulatedWorkspace.create_in(plugboard.make_workspace("A world of its own"))
