"""Makes the stored database of this version: `python -m tests.stored.make VERSION`.

Run it when a version is released and commit the new folder; never make the database of an older version again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, served
from tests.stored.content import Content
from tests.stored.database import store
from tests.stored.network import Network, open_network


def make(version: str) -> None:
    with TemporaryDirectory() as folder, open_network() as network:
        clock = StillClock()
        with _served(folder, network, clock) as plugboard:
            content = Content(network, clock)
            content.begin(plugboard)
        _rotate_keys(folder)
        with _served(folder, network, clock) as plugboard:
            facts = content.complete(plugboard)
        store(version, Path(folder), facts)


@contextmanager
def _served(folder: str, network: Network, clock: StillClock) -> Iterator[Plugboard]:
    settings = Settings.from_environment(network.environment(folder))
    with served(settings, clock, network.lookup) as plugboard:
        yield plugboard


def _rotate_keys(folder: str) -> None:
    """Afterwards, credentials are sealed under two data keys."""
    command = [Path(sys.executable).with_name("plugboard"), "keys", "rotate"]
    subprocess.run(command, env={**os.environ, "PLUGBOARD_DATA_DIR": folder}, check=True, capture_output=True)


if __name__ == "__main__":
    make(sys.argv[1])
