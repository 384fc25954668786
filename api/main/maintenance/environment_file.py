"""A file of settings, as systemd and containers read it."""

from __future__ import annotations

import shlex
from pathlib import Path

from api.main.settings import InvalidSetting


def read_environment_file(path: Path) -> dict[str, str]:
    """The lines `NAME=value`."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting("--to", f"{path} cannot be read: {error}.") from error
    pairs = [line.removeprefix("export ").partition("=") for line in lines if line and not line.startswith("#")]
    if invalid := [name for name, sign, _ in pairs if not sign]:
        raise InvalidSetting("--to", f"{path}: {invalid[0]!r} is not a line of the form NAME=value.")
    return {name.strip(): "".join(shlex.split(text)) for name, _, text in pairs}
