import pytest

from tests.harness import Plugboard
from tests.http.wire import World


@pytest.fixture(scope="session")
def world(on_sqlite: Plugboard) -> World:
    """For tests that change nothing: a workspace with one of everything in it, shared by all of them."""
    return World.made_in(on_sqlite.make_workspace("A world of its own"))
