"""Records responses: `python -m tests.recorded.record [SCRIPT …]`. Without a script, all are recorded.

The first recording was made with the code before its names and folders changed. Record again only for an intended
change of behaviour, and read the difference.
"""

from __future__ import annotations

import sys

from tests.recorded.recording import write
from tests.recorded.runner import run
from tests.recorded.scripts import SCRIPTS


def main(names: list[str]) -> None:
    for name in names or SCRIPTS:
        write(name, run(SCRIPTS[name]))


if __name__ == "__main__":
    main(sys.argv[1:])
