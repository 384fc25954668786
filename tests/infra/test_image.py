"""infra/Dockerfile and infra/compose.yaml: no engine is needed to see that they give away no right."""

import re
import shutil
import subprocess
import sys
import sysconfig
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


@pytest.mark.slow
def test_the_commands_of_the_build_make_a_command_that_runs(tmp_path: Path) -> None:
    """All but those that need a package index or remove what the tests themselves run on."""
    build_stage = DOCKERFILE[: [place for place, (name, _) in enumerate(DOCKERFILE) if name == "FROM"][1]]
    for instruction, value in build_stage:
        match instruction:
            case "COPY":
                copy_into(tmp_path, *value.split())
            case "RUN" if "-r requirements.lock" in value:
                (site,) = (tmp_path / ".venv/lib").glob("python*/site-packages")
                for bundled in [*site.glob("setuptools*"), site / "pkg_resources"]:  # the locked one replaces it
                    shutil.rmtree(bundled, ignore_errors=True)
                (site / "locked.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
            case "RUN" if "pip uninstall" not in value:
                path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
                environment = {"PATH": path}
                subprocess.run(["sh", "-c", value], cwd=tmp_path, env=environment, check=True, capture_output=True)
    for source in ("api", "integrations", "build"):
        shutil.rmtree(tmp_path / source, ignore_errors=True)

    script = "import api.main.cli, integrations; print(api.main.cli.__file__, len(integrations.services()))"
    programs = [[".venv/bin/python", "-c", script], [".venv/bin/plugboard", "--version"]]
    place, version = (
        subprocess.run(program, cwd=tmp_path, env={}, capture_output=True, text=True, check=True).stdout
        for program in programs
    )

    assert re.fullmatch(rf"{tmp_path}/\.venv/lib/python[\d.]+/site-packages/api/main/cli\.py 5\n", place)
    assert version.startswith("plugboard ")


def copy_into(folder: Path, *sources_and_target: str) -> None:
    *sources, target = sources_and_target
    for source in sources:
        place = folder / (target if source.endswith("/") else f"{target}/{source}")
        copy = shutil.copytree if (PROJECT / source).is_dir() else shutil.copy
        copy(PROJECT / source, place)


def test_the_image_keeps_only_the_environment() -> None:
    (kept,) = [value for value in arguments_of("COPY") if value.startswith("--from=build")]

    assert kept == "--from=build /opt/plugboard/.venv /opt/plugboard/.venv"
    assert "WORKDIR /opt/plugboard" in [f"{name} {value}" for name, value in DOCKERFILE]
    assert any(value.startswith("PATH=/opt/plugboard/.venv/bin:") for value in arguments_of("ENV"))
    assert DOCKERFILE[-2:] == [("ENTRYPOINT", '["plugboard"]'), ("CMD", '["serve"]')]


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
