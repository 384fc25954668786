"""What someone sees who starts it for the first time, and the second."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from api.api_keys.service import make_operator_key
from api.main.container import build_container
from api.main.settings import Settings
from tests.docs.reader import DEMO_AT, filled_in, functions_of, in_a_shell, is_up, weather_server
from tests.documents import README, guide
from tests.e2e.process import (
    COMMAND,
    PATIENCE_SECONDS,
    PROJECT,
    Process,
    answers,
    environment,
    free_port,
    plugboard,
    serving,
    until,
)
from tests.fakes.postgres import PASSWORD, PostgresServer

WHAT_ELSE = "Ctrl-C stops it. The log follows:"
NOT_NOW = {"MAKEFLAGS": "--old-file=.venv/.runs"}
"""Of what `make` does, all but setting up what these very tests run in."""
STORE = """
api "$URL/mcp-servers" -d '{"name": "Weather API", "url": "https://api.weather.example.com/mcp", "authType": "none"}'
"""


@contextmanager
def terminal(lines: str, folder: Path, url: str, cwd: Path = PROJECT, **changed: object) -> Iterator[Process]:
    """Runs the lines in a terminal and closes it at the end."""
    folder.mkdir()
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        popen = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", lines],
            cwd=cwd,
            env=environment(folder / "var", **changed),
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    process = Process(popen, url, folder)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):  # no process is left in the group
            os.killpg(popen.pid, signal.SIGTERM)
        popen.wait(PATIENCE_SECONDS)


def is_ready(process: Process) -> bool:
    return is_running(process) and answers(process, "/readyz")


def is_running(process: Process) -> bool:
    assert process.popen.poll() is None, process.output() + process.log()
    return True


def test_the_tour_of_the_readme_calls_a_tool(tmp_path: Path) -> None:
    """As a user types it, on other ports."""
    port, demo_port = free_port(), free_port()
    first, second = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{demo_port}"
    make_run, make_demo, calls = (README.block("sh", sign) for sign in ("make run", "make demo", "tool-calls"))
    make_demo = make_demo.replace("make demo ", f"make demo ARGS={demo_port} ")
    with (
        terminal(make_run, tmp_path / "1", first, **NOT_NOW, PLUGBOARD_PORT=port) as run,
        terminal(make_demo, tmp_path / "2", second, **NOT_NOW) as demo,
    ):
        until(lambda: is_ready(run) and is_running(demo) and is_up(second))
        variables = {"URL": f"{first}/api/workspaces/{run.workspace_id()}", "KEY": run.key()}
        *_, answer = in_a_shell(filled_in(calls).replace(DEMO_AT, second), tmp_path, **variables)

    assert json.loads(answer) == json.loads(*README.blocks_in("json"))


def test_the_first_output_shows_a_tool_call_that_works(tmp_path: Path) -> None:
    with weather_server() as demo, serving(tmp_path / "var", PLUGBOARD_EGRESS_ALLOW="127.0.0.1/32") as process:
        lines = process.output().partition("  URL=")
        *_, answer = in_a_shell((lines[1] + lines[2]).partition("\n\n")[0].replace(DEMO_AT, demo), tmp_path)

    assert json.loads(answer)["text"] == "Oslo: 4 °C."
    assert "PLUGBOARD_EGRESS_ALLOW" not in process.output()


def test_the_first_output_says_what_its_call_needs(tmp_path: Path) -> None:
    with serving(tmp_path / "var") as process:
        assert "start it again with\n`PLUGBOARD_EGRESS_ALLOW=127.0.0.1/32 make run`." in process.output()


def test_the_lines_about_postgresql_start_a_service_on_it(tmp_path: Path, postgres: PostgresServer) -> None:
    if not shutil.which("openssl"):
        pytest.skip("the lines need openssl")
    port, path = free_port(), f"{COMMAND.parent}:{os.environ['PATH']}"
    settings = {"PLUGBOARD_PORT": port, "PASSWORD": PASSWORD, "PATH": path}
    lines, url = guide("operating").block("sh", "PLUGBOARD_STORE=postgres"), f"http://127.0.0.1:{port}"
    lines = lines.replace("db.example.com/plugboard", f"127.0.0.1:{postgres.port}/{postgres.make_database()}")

    with terminal(lines, tmp_path / "1", url, tmp_path, **settings) as process:
        until(lambda: is_ready(process))
        created = json.loads(next(line for line in process.output().splitlines() if line.startswith("{")))
        with process.caller(created["apiKey"]) as admin:
            assert admin.get(f"/api/workspaces/{created['workspaceId']}").json()["name"] == "Acme"

    assert PASSWORD not in process.output() + process.log()
    assert not (tmp_path / "1/var").exists()


def test_the_lines_about_dynamodb_start_a_service_on_it(tmp_path: Path, moto_server: str) -> None:
    if not shutil.which("openssl"):
        pytest.skip("the lines need openssl")
    port, path = free_port(), f"{COMMAND.parent}:{os.environ['PATH']}"
    settings = {"PLUGBOARD_PORT": port, "PLUGBOARD_DYNAMODB_ENDPOINT": moto_server, "PATH": path}
    lines, url = guide("operating").block("sh", "PLUGBOARD_STORE=dynamodb"), f"http://127.0.0.1:{port}"

    with terminal(lines, tmp_path / "1", url, tmp_path, **settings) as process:
        until(lambda: is_ready(process))
        created = json.loads(next(line for line in process.output().splitlines() if line.startswith("{")))
        with process.caller(created["apiKey"]) as admin:
            assert admin.get(f"/api/workspaces/{created['workspaceId']}").json()["name"] == "Acme"

    assert not (tmp_path / "1/var").exists()


def test_the_first_start_creates_a_workspace_and_prints_how_to_call_it(tmp_path: Path) -> None:
    data = tmp_path / "var"
    with serving(data) as process:
        text = process.output()
        with process.caller(process.key()) as admin:
            servers = f"/api/workspaces/{process.workspace_id()}/mcp-servers"
            assert admin.get(f"/api/workspaces/{process.workspace_id()}").json()["name"] == "My workspace"
            assert json.loads(store_a_server(text, tmp_path))["slug"] == "weather-api"
            assert [server["name"] for server in admin.get(servers).json()] == ["Weather API"]
    key_file = data / "root.key"
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert data.stat().st_mode & 0o777 == 0o700
    assert key_file.read_text().strip() not in text
    assert "pb_" not in process.log()

    with serving(data) as again:
        assert again.output() == f"Serving on {again.url}, described at {again.url}/docs. {WHAT_ELSE}\n"
        with again.caller(re.findall(r"pb_\w+", text)[0]) as admin:
            assert len(admin.get(servers.replace(process.url, again.url)).json()) == 1


def store_a_server(text: str, folder: Path) -> str:
    """Types the two printed lines, and then a command of the guides."""
    variables = [line.strip() for line in text.splitlines() if line.startswith(("  URL=", "  KEY="))]
    assert len(variables) == 2
    (response,) = in_a_shell("\n".join([*variables, functions_of(README), STORE]), folder)
    return response


def used_before(data: Path) -> None:
    """The database and the key file of an earlier process."""

    async def use() -> None:
        container = await build_container(Settings(data_dir=data))
        await make_operator_key(container.store, container.key_maker)
        await container.close()

    asyncio.run(use())


def test_a_database_without_its_key_file_is_not_served(tmp_path: Path) -> None:
    data = tmp_path / "var"
    used_before(data)
    (data / "root.key").rename(tmp_path / "elsewhere")

    refused = plugboard(data, "serve", PLUGBOARD_PORT=free_port())

    assert refused.returncode == 1
    assert "root.key is missing" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (data / "root.key").exists()


def test_a_database_does_not_open_with_another_key_file(tmp_path: Path) -> None:
    data = tmp_path / "var"
    used_before(data)
    used_before(tmp_path / "other")
    (tmp_path / "other/root.key").replace(data / "root.key")

    refused = plugboard(data, "serve", PLUGBOARD_PORT=free_port())

    assert refused.returncode == 1
    assert "root key" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "My workspace" not in refused.stdout


def test_a_taken_port_is_reported_before_anything_is_created(tmp_path: Path) -> None:
    data = tmp_path / "var"
    with socket.create_server(("127.0.0.1", 0)) as other:
        refused = plugboard(data, "serve", PLUGBOARD_PORT=other.getsockname()[1])

    assert refused.returncode == 1
    assert refused.stderr.startswith("plugboard: PLUGBOARD_PORT: ")
    assert "Traceback" not in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize("workers", [1, 2])
def test_an_address_of_another_machine_is_reported(tmp_path: Path, workers: int) -> None:
    refused = plugboard(tmp_path / "var", "serve", PLUGBOARD_HOST="192.0.2.1", PLUGBOARD_WORKERS=workers)

    assert refused.returncode == 1
    assert refused.stderr.startswith("plugboard: PLUGBOARD_HOST: ")
    assert refused.stderr.count("\n") == 1
