"""Copies the seeded rows into a PostgreSQL database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from api.main.container import KEY_FILE


def settings(url: str, data: Path) -> dict[str, str]:
    """The settings of a product on that database; its credentials were sealed with the key of `data`."""
    return {
        "PLUGBOARD_STORE": "postgres",
        "PLUGBOARD_POSTGRES_URL": url,
        "PLUGBOARD_ROOT_KEY": (data / KEY_FILE).read_text().strip(),
    }


def copy(data: Path, to: Path, variables: dict[str, str]) -> None:
    """As an operator does it. `to` is where the file with the settings of the copy is written."""
    target = to / "settings"
    target.write_text("".join(f"{name}={text}\n" for name, text in variables.items()))
    command = [str(Path(sys.executable).with_name("plugboard")), "store", "copy", "--to", str(target)]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PLUGBOARD_")}
    subprocess.run(command, env=plain | {"PLUGBOARD_DATA_DIR": str(data)}, check=True, capture_output=True)
