"""What holds for the tools of any service, also of one that comes as a folder at run time."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from api.kit.egress.policy import EgressPolicy
from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider
from integrations import load_services, services
from tests.fakes.raw_upstream import ReceivedRequest, upstream
from tests.harness import Plugboard, served
from tests.toolkits.connected_service import ServiceTools

MANIFEST = """
name = "sixth"
title = "Sixth"
description = "Numbers, kept and told."
console_url = "https://sixth.example/keys"
docs_url = "https://sixth.example/docs"
auth_types = ["header"]
api_base_url = "https://api.sixth.example"

[[config_fields]]
name = "apiKey"
title = "API key"
description = "Made at Sixth."
secret = true

[[tools]]
name = "sixth_get_number"
description = "Read a number."
writes = false

[[tools]]
name = "sixth_keep_number"
description = "Keep a number."
writes = true
"""
TOOLS = '''
"""Read and keep numbers of Sixth."""

from __future__ import annotations

from pydantic import Field

from integrations.service_client import CredentialRejected, Rejected, Reply, ServiceClient, Verdict
from integrations.tool import Params, Result, tool


class SixthApi(ServiceClient):
    def verdict(self, reply: Reply) -> Verdict:
        if reply.status == 401:
            return CredentialRejected()
        return None if reply.status == 200 else Rejected(f"There is no such number: {reply.body['error']}.")


class Which(Params):
    number_id: str = Field(description="The id of the number.")


class Keep(Which):
    value: int = Field(description="The number itself.")


class Number(Result):
    number_id: str
    value: int

    def text(self) -> str:
        return f"{self.number_id} is {self.value}."


@tool("Get a number")
async def sixth_get_number(api: SixthApi, ask: Which) -> Number:
    """Read a number that was kept."""
    found = await api.get(f"/numbers/{ask.number_id}")
    return Number(number_id=ask.number_id, value=found["value"])


@tool("Keep a number", writes=True, repeatable=True)
async def sixth_keep_number(api: SixthApi, ask: Keep) -> Number:
    """Keep a number."""
    await api.request("PUT", f"/numbers/{ask.number_id}", body={"value": ask.value})
    return Number(number_id=ask.number_id, value=ask.value)


TOOLS = [sixth_get_number, sixth_keep_number]
API = SixthApi
'''
RULES_OF_CODE = (
    "banned",
    "conventions",
    "folders",
    "imports",
    "readme",
    "sizes",
    "subfolders",
    "tables",
    "unsealing",
    "workspace_scope",
)
NOT_SOURCES = (".git", ".venv", "node_modules", ".*_cache", ".hypothesis", "var", "results")


@pytest.fixture
def sixth(tmp_path: Path) -> Path:
    """One folder, and no line of code anywhere else."""
    folder = tmp_path / "services" / "sixth"
    folder.mkdir(parents=True)
    (folder / "manifest.toml").write_text(MANIFEST, encoding="utf-8")
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")
    return folder.parent


@pytest.mark.slow
def test_a_new_service_passes_the_architecture_rules_without_other_changes(sixth: Path, tmp_path: Path) -> None:
    """The rules about tests and links say nothing about a service, so they are left out."""
    project = Path(__file__).parents[2]
    copy = shutil.copytree(project, tmp_path / "project", ignore=shutil.ignore_patterns(*NOT_SOURCES))
    shutil.copytree(sixth / "sixth", copy / "integrations" / "sixth")
    rules = [copy / "tests" / "architecture" / f"test_{name}.py" for name in RULES_OF_CODE]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "PYTEST"))}

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:xdist", "--noconftest", *rules],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout


class Numbers:
    def __init__(self) -> None:
        self.kept: dict[str, int] = {}
        self.seen: list[ReceivedRequest] = []

    async def __call__(self, visit: ReceivedRequest, writer: Any) -> None:
        self.seen.append(visit)
        method, path, _ = visit.line.split(" ", 2)
        name = path.rpartition("/")[2]
        if method == "PUT":
            self.kept[name] = json.loads(visit.body)["value"]
        is_known = name in self.kept
        body = json.dumps({"value": self.kept[name]} if is_known else {"error": name}).encode()
        head = f"HTTP/1.1 {'200 OK' if is_known else '404 Not Found'}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()


async def test_a_service_with_an_api_key_and_two_tools_needs_one_folder(sixth: Path, tmp_path: Path) -> None:
    numbers = Numbers()
    async with upstream(numbers) as there:
        settings = Settings(
            data_dir=tmp_path / "var",
            egress=EgressPolicy.parse("127.0.0.1"),
            addresses={"SIXTH_API_BASE_URL": there.url("").rstrip("/")},
        )
        arrived = await asyncio.to_thread(_used, settings, sixth)

    assert arrived["tools"] == ["sixth_get_number_acme", "sixth_keep_number_acme"]
    assert arrived["kept"]["structuredContent"] == {"numberId": "seven", "value": 7}
    assert arrived["read"]["text"] == "seven is 7."
    assert (arrived["lost"]["error"], arrived["lost"]["text"]) == (
        {"kind": "upstream_refused"},
        "Error: There is no such number: eight.",
    )
    assert arrived["wrong"]["error"] == {"kind": "invalid_arguments"}
    assert [visit.headers["authorization"] for visit in numbers.seen] == ["Bearer canary-sixth"] * 3


def _used(settings: Settings, folder: Path) -> dict[str, Any]:
    with served(settings, catalog={**services(), **load_services(folder)}) as plugboard:
        desk = ServiceTools.of(plugboard, "sixth", authType="header", config={"apiKey": "canary-sixth"})
        return {
            "tools": list(desk.list_tools()),
            "kept": desk.call("sixth_keep_number", number_id="seven", value="7"),
            "read": desk.call("sixth_get_number", numberId="seven"),
            "lost": desk.call("sixth_get_number", numberId="eight"),
            "wrong": desk.call("sixth_get_number", colour="red"),
        }


@pytest.fixture
def two(plugboard: Plugboard, provider: OAuthProvider) -> tuple[ServiceTools, ServiceTools]:
    """Two servers of one service, with one name, in one agent; each of another team."""
    slack = provider.tenant("slack")
    first = ServiceTools.of(plugboard, "slack")
    slack.configure(workspace="Globex")
    second = first.another("slack")
    first.enable(first, second)
    return first, second


def test_tools_of_two_servers_with_one_name_stay_distinct(two: tuple[ServiceTools, ServiceTools]) -> None:
    first, second = two

    assert first.slug != second.slug
    assert len(first.list_tools()) == 6
    assert not first.call("slack_list_channels")["isError"]
    assert not second.call("slack_list_channels")["isError"]


def test_removing_a_server_renames_no_tool(two: tuple[ServiceTools, ServiceTools]) -> None:
    first, second = two
    before = set(second.list_tools())

    path = f"{first.workspace.servers}/{first.server}?detach=true"
    assert first.workspace.admin.delete(path).status_code == 204

    assert set(second.list_tools()) == {name for name in before if name.endswith(f"_{second.slug}")}
    assert not second.call("slack_list_channels")["isError"]


def test_tool_rules_of_agents_apply_to_services(plugboard: Plugboard) -> None:
    desk = ServiceTools.of(plugboard, "linear")
    allowed = {"enabledMcpServerToolNames": {desk.server: ["linear_list_teams"]}}
    agent = f"{desk.workspace.agents}/{desk.agent}"
    assert desk.workspace.admin.put(agent, json=allowed).status_code == 200

    body = {"toolName": desk.name("linear_list_issues"), "args": {}}
    response = desk.workspace.admin.post(f"{agent}/tool-calls", json=body)

    assert list(desk.list_tools()) == [desk.name("linear_list_teams")]
    assert response.status_code == 404
