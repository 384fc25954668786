"""The README's lines do what it says, on a real Plugboard."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from api.access.keys import KEY_PATTERN
from tests.harness import Workspace

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def calls() -> str:
    """The blocks that call the API, without the two lines in which the reader fills in what was printed."""
    blocks = [block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "$URL" in block]
    return re.sub(r"^(URL|KEY)=.*…\n", "", "\n".join(blocks), flags=re.MULTILINE)


def test_the_first_calls_do_what_the_readme_says(workspace: Workspace) -> None:
    if not (shutil.which("bash") and shutil.which("curl")):
        pytest.skip("the README's lines need bash and curl")
    given = f"URL={workspace.plugboard.url}{workspace.path}\nKEY={workspace.key}\n"

    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", given + calls()], capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr
    first, listed, refused, audit = [json.loads(text) for text in re.split(r"(?<=[}\]])(?=[{\[])", run.stdout)]
    assert (first["slug"], first["version"]) == ("weather-api", 1)
    assert [(server["name"], server["configured"]) for server in listed] == [
        ("Weather API", []),
        ("Billing", ["headerValue"]),
    ]
    assert (refused["status"], refused["code"]) == (409, "in_use")
    assert [record["action"] for record in audit[:2]] == ["server.deleted", "agent.updated"]
    assert "a-token" not in run.stdout


def test_the_pattern_for_secret_scanners_is_that_of_the_code() -> None:
    assert f"`{KEY_PATTERN.pattern}`" in README
