"""The wheel works where the source tree is not."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import uuid
import venv
import zipfile
from pathlib import Path
from urllib.parse import urljoin

import pytest

from release.wheel import BUILD, build_wheel
from tests.e2e.process import PROJECT, Program, environment, plugboard, serving

FOR_READERS = re.compile(r"integrations/\w+/README\.md")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(PROJECT, tmp_path_factory.mktemp("wheel"), epoch=1_700_000_000)


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """In an environment of its own. The locked dependencies come from the environment of the tests, which has them."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / ".venv", with_pip=False)
    python = folder / ".venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    (site,) = (folder / ".venv/lib").glob("python*/site-packages")
    (site / "locked.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return Program((folder / ".venv/bin/plugboard",), folder)


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    files = [path for name in ("api", "integrations") for path in (PROJECT / name).rglob("*") if path.is_file()]
    names = {str(path.relative_to(PROJECT)) for path in files if "__pycache__" not in path.parts}

    with zipfile.ZipFile(wheel) as content:
        packed = {name for name in content.namelist() if ".dist-info/" not in name}

    assert packed == {name for name in names if not FOR_READERS.fullmatch(name)}


def test_the_build_backend_is_locked_and_nothing_is_downloaded() -> None:
    assert "--no-build-isolation" in BUILD
    assert "--no-index" in BUILD
    assert re.search(r"^setuptools==", (PROJECT / "requirements.lock").read_text(), re.MULTILINE)


@pytest.mark.slow
def test_the_command_runs_from_the_environment_that_it_is_installed_in(installed: Program, tmp_path: Path) -> None:
    python = Path(installed.command[0]).with_name("python")
    places = subprocess.run(
        [python, "-c", "import api, integrations; print(api.__file__, integrations.__file__)"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )

    assert all(place.startswith(f"{installed.directory}/.venv/lib/") for place in places.stdout.split())
    assert plugboard(tmp_path / "var", "--version", program=installed).stdout.startswith("plugboard ")


@pytest.mark.slow
def test_the_table_is_created_and_its_template_printed(installed: Program, moto_server: str, tmp_path: Path) -> None:
    dynamo = {
        "PLUGBOARD_STORE": "dynamodb",
        "PLUGBOARD_TABLE": f"test-{uuid.uuid4().hex}",
        "PLUGBOARD_DYNAMODB_ENDPOINT": moto_server,
    }

    created = plugboard(tmp_path / "var", "table", "create", program=installed, **dynamo)
    template = plugboard(tmp_path / "var", "table", "template", program=installed)

    assert created.stdout == f"The table {dynamo['PLUGBOARD_TABLE']} was created.\n", created.stderr
    assert template.stdout == (PROJECT / "api/kit/storage/dynamodb/stack.yaml").read_text()


@pytest.mark.slow
def test_it_serves_the_api_its_description_and_the_files_of_the_page(installed: Program, tmp_path: Path) -> None:
    with serving(tmp_path / "var", installed) as process, process.caller(process.key()) as admin:
        created = admin.post(f"/api/workspaces/{process.workspace_id()}/agents", json={"name": "Support"})
        services = admin.get("/api/services").json()
        page, contract = admin.get("/docs"), admin.get("/openapi.yaml")
        scripts = [urljoin("/docs", path) for path in re.findall(r'<script[^>]* src="([^"]+)"', page.text)]
        files = [admin.get(script) for script in scripts]

    assert created.status_code == 201
    assert len(services) == 5
    assert page.headers["Content-Type"].startswith("text/html")
    assert contract.content == (PROJECT / "openapi.yaml").read_bytes()
    assert scripts
    assert {file.status_code for file in files} == {200}
    assert all(file.headers["Content-Type"].startswith("text/javascript") for file in files)
