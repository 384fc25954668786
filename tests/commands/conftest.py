"""Commands of `plugboard`, run in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from api.main.cli import main
from api.main.settings import Settings

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on a data directory of the test's own and returns what it printed."""
    monkeypatch.setenv("PLUGBOARD_DATA_DIR", str(tmp_path / "var"))

    def command(*arguments: str, **environment: str) -> str:
        with monkeypatch.context() as changed:
            for name, value in environment.items():
                changed.setenv(name, value)
            main(arguments)
        return capsys.readouterr().out

    return command


@pytest.fixture
def data(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "var")
