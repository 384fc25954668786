"""The guide shows the files for proxies and systemd, and systemd takes its unit. `test_proxies.py` uses the others."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.documents import guide

INFRA = Path(__file__).parents[2] / "infra"
FILES = {"nginx": "proxies/nginx.conf", "caddyfile": "proxies/Caddyfile", "ini": "systemd/plugboard.service"}


def accepted(*command: str | Path) -> str:
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def needs(program: str) -> Callable[..., object]:
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed (Debian has it)")


@pytest.mark.parametrize(("language", "file"), FILES.items())
def test_the_guide_shows_the_settings_of_the_file(language: str, file: str) -> None:
    shown = guide("operating").block(
        language, {"nginx": "upstream", "caddyfile": "reverse_proxy", "ini": "[Service]"}[language]
    )
    settings = [
        line.partition("  #")[0] for line in (INFRA / file).read_text().splitlines() if not line.startswith("#")
    ]

    assert settings == shown.rstrip().splitlines()


@needs("systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """The program is not where the unit expects it: any other stands for it."""
    text = (INFRA / FILES["ini"]).read_text().replace("/opt/plugboard/.venv/bin/plugboard", shutil.which("env") or "")
    unit = tmp_path / "plugboard.service"
    unit.write_text(text)

    assert accepted("systemd-analyze", "verify", "--man=no", unit) == ""


@needs("systemd-analyze")
def test_systemd_warns_of_an_unknown_setting(tmp_path: Path) -> None:
    unit = tmp_path / "plugboard.service"
    unit.write_text("[Service]\nExecStart=/usr/bin/env\nKillMod=mixed\n")

    assert "KillMod" in accepted("systemd-analyze", "verify", "--man=no", unit)
