"""Records the responses of new scripts: `python -m tests.recorded.record SCRIPT …`.

A recording is never renewed, see README.md.
"""

from __future__ import annotations

import sys

from tests.recorded.recording import write
from tests.recorded.runner import run
from tests.recorded.scripts import SCRIPTS


def main(names: list[str]) -> None:
    for name in names:
        write(name, run(SCRIPTS[name]))


if __name__ == "__main__":
    main(sys.argv[1:])
