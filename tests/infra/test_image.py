"""infra/Dockerfile and infra/compose.yaml: no engine is needed to see that they give away no right."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import Plugboard

PROJECT = Path(__file__).parents[2]
FROM_PYTHON = ["python:${PYTHON} AS build", "python:${PYTHON}"]


def instructions(text: str) -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n\s*", "", text)
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


DOCKERFILE = instructions((PROJECT / "infra/Dockerfile").read_text())


def arguments_of(name: str) -> list[str]:
    return [value for instruction, value in DOCKERFILE if instruction == name]


def copied() -> list[str]:
    return [source for value in arguments_of("COPY") if "--from" not in value for source in value.split()[:-1]]


def admitted_files() -> list[str]:
    lines = (PROJECT / ".dockerignore").read_text().splitlines()
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def service() -> Any:
    return yaml.safe_load((PROJECT / "infra/compose.yaml").read_text())["services"]["plugboard"]


def test_the_image_runs_as_a_numeric_non_root_user() -> None:
    last_stage = DOCKERFILE[max(place for place, (name, _) in enumerate(DOCKERFILE) if name == "FROM") :]
    users = [value for name, value in last_stage if name == "USER"]

    assert arguments_of("FROM") == FROM_PYTHON
    assert users == ["10001:10001"]
    assert [name for name, _ in last_stage][-3:] == ["HEALTHCHECK", "ENTRYPOINT", "CMD"]


def test_the_image_downloads_nothing_unpinned() -> None:
    assert arguments_of("ADD") == []
    assert not re.search(r"https?://|curl|wget|apt-get", "\n".join(arguments_of("RUN")))
    assert all("--require-hashes" in run or "--no-index" in run for run in arguments_of("RUN") if "pip install" in run)


def test_no_secret_is_in_the_image() -> None:
    text = "\n".join(arguments_of("ENV") + arguments_of("ARG"))

    assert not re.search(r"KEY|SECRET|TOKEN|PASSWORD", text)
    assert "PLUGBOARD_HOST=0.0.0.0" in text
    assert arguments_of("VOLUME") == ['["/data"]']


def test_the_ignore_file_admits_only_copied_files() -> None:
    assert sorted(admitted_files()) == sorted(source.rstrip("/") for source in copied())
    assert [source for source in copied() if not (PROJECT / source).exists()] == []


def test_the_copied_files_suffice_to_run(tmp_path: Path) -> None:
    for source in copied():
        place = tmp_path / source
        place.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (PROJECT / source).is_dir() else shutil.copy
        copy(PROJECT / source, place)
    script = (
        "import api.main.cli, api.main.asgi, api.kit.storage.dynamodb.table as t, integrations as i, sys;"
        "print(api.main.cli.__file__, len(i.services()), *t.table_definition('a-table')['KeySchema']);"
        "api.main.cli.main(['--help'])"
    )

    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"{tmp_path}/api/main/cli.py 5 {{'AttributeName': 'pk'")
    assert "table" in run.stdout


@pytest.mark.parametrize(("answers", "code"), [(True, 0), (False, 1)])
def test_the_health_check_calls_the_process(plugboard: Plugboard, answers: bool, code: int) -> None:
    command = yaml.safe_load(arguments_of("HEALTHCHECK")[0].partition("CMD ")[2])
    port = plugboard.url.rpartition(":")[2] if answers else "1"

    environment = {"PLUGBOARD_PORT": port, "PATH": "", "http_proxy": "http://127.0.0.1:9"}
    run = subprocess.run([sys.executable, *command[1:]], env=environment, capture_output=True, check=False)

    assert command[0] == "python"
    assert run.returncode == code


def test_compose_publishes_on_localhost_and_drops_all_capabilities() -> None:
    plugboard = service()

    assert plugboard["ports"] == ["127.0.0.1:8400:8400"]
    assert plugboard["read_only"] is True
    assert plugboard["cap_drop"] == ["ALL"]
    assert plugboard["security_opt"] == ["no-new-privileges:true"]
    assert plugboard["volumes"] == ["data:/data"]
    assert not {"privileged", "cap_add", "network_mode", "pid", "user"} & plugboard.keys()


def test_compose_builds_this_image() -> None:
    build = service()["build"]

    assert (PROJECT / "infra" / build["context"]).resolve() == PROJECT
    assert (PROJECT / build["dockerfile"]).is_file()
    assert int(service()["stop_grace_period"].removesuffix("s")) > 35, "longer than requests in flight may take"
