"""The files for proxies and systemd are accepted by the programs that read them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.documents import guide

INFRA = Path(__file__).parents[2] / "infra"
FILES = {"nginx": "proxies/nginx.conf", "caddyfile": "proxies/Caddyfile", "ini": "systemd/plugboard.service"}


def accepted(*command: str | Path) -> None:
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


def needs(program: str) -> Callable[..., object]:
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed (Debian has it)")


@pytest.mark.parametrize(("language", "file"), FILES.items())
def test_the_guide_shows_the_settings_of_the_file(language: str, file: str) -> None:
    shown = guide("operating").block(
        language, {"nginx": "upstream", "caddyfile": "max_size", "ini": "[Service]"}[language]
    )
    settings = [
        line.partition("  #")[0] for line in (INFRA / file).read_text().splitlines() if not line.startswith("#")
    ]

    assert settings == shown.rstrip().splitlines()


@needs("nginx")
def test_nginx_takes_its_file(tmp_path: Path) -> None:
    key, certificate = tmp_path / "plugboard.key", tmp_path / "plugboard.pem"
    accepted(
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-subj", "/CN=plugboard.example.com", "-keyout", key, "-out", certificate),
    )
    text = (INFRA / FILES["nginx"]).read_text().replace("/etc/ssl/", f"{tmp_path}/")
    (tmp_path / "plugboard.conf").write_text(text.replace("/var/log/nginx/", f"{tmp_path}/"))
    whole = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ include {tmp_path}/plugboard.conf; }}"
    (tmp_path / "nginx.conf").write_text(whole)

    accepted("nginx", "-t", "-c", tmp_path / "nginx.conf")


@needs("caddy")
def test_caddy_takes_its_file() -> None:
    accepted("caddy", "validate", "--adapter", "caddyfile", "--config", INFRA / FILES["caddyfile"])


@needs("systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """The program is not where the unit expects it: any other stands for it."""
    text = (INFRA / FILES["ini"]).read_text().replace("/opt/plugboard/.venv/bin/plugboard", shutil.which("env") or "")
    unit = tmp_path / "plugboard.service"
    unit.write_text(text)

    accepted("systemd-analyze", "verify", "--man=no", unit)
