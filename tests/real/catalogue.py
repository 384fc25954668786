"""The servers that Plugboard is tried with: how each is started, how it speaks, and one call whose answer is known."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.e2e.process import PROJECT, free_port
from tests.real.programs import start, stop

HERE = PROJECT / "tests/real"
MADE = PROJECT / ".venv/real"
NODE_MODULES = HERE / "node_modules"
ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
LEGACY, MODERN = "2025-11-25", "2026-07-28"


def nothing(_folder: Path) -> None: ...


@dataclass(frozen=True)
class RealServer:
    """`{port}` and `{folder}` stand for those that a server is given."""

    name: str
    command: tuple[str | Path, ...]
    kind: str
    version: str | None
    calls_itself: str | None
    tools: frozenset[str]
    tool: str
    args: Mapping[str, Any]
    says: str
    """Part of the answer's text."""
    structured: Any = None
    path: str = "/mcp"
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], None] = nothing


@dataclass
class Running:
    server: RealServer
    folder: Path
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.server.prepare(self.folder)
        self._popen = self._started()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.server.path}"

    @property
    def args(self) -> dict[str, Any]:
        filled: dict[str, Any] = json.loads(self._filled(json.dumps(self.server.args)))
        return filled

    def stop(self) -> None:
        stop(self._popen)

    def restart(self) -> None:
        self.stop()
        self._popen = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        command = [self._filled(str(part)) for part in self.server.command]
        environment = {name: self._filled(value) for name, value in self.server.environment.items()}
        return start(command, self.port, self.folder, environment)

    def _filled(self, text: str) -> str:
        return text.replace("{port}", str(self.port)).replace("{folder}", str(self.folder))


@contextmanager
def running(server: RealServer, folder: Path) -> Iterator[Running]:
    run = Running(server, folder)
    try:
        yield run
    finally:
        run.stop()


def one_commit(folder: Path) -> None:
    as_someone = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    subprocess.run(
        ["git", "-C", folder, *as_someone, "commit", "--quiet", "--allow-empty", "--message=First light"], check=True
    )


def one_file(folder: Path) -> None:
    (folder / "poem.txt").write_text("Über allen Gipfeln\n", encoding="utf-8")


def one_memory(folder: Path) -> None:
    (folder / "memory.jsonl").write_text(json.dumps({"type": "entity", **ADA}), encoding="utf-8")


def npm(name: str) -> tuple[str | Path, ...]:
    return ("node", NODE_MODULES / f"@modelcontextprotocol/{name}/dist/index.js")


def proxied(*command: str | Path) -> tuple[str | Path, ...]:
    return (MADE / "proxy/bin/mcp-proxy", "--port", "{port}", "--pass-environment", "--", *command)


def everything(mode: str) -> tuple[str | Path, ...]:
    node, program = npm("server-everything")
    return (node, "--require", HERE / "loopback.cjs", program, mode)


def sdk(*modes: str) -> tuple[str | Path, ...]:
    return (MADE / "servers/bin/python", HERE / "sdk_server.py", "{port}", *modes)


EVERYTHING = RealServer(
    "server-everything",
    everything("streamableHttp"),
    kind="streamable",
    version=LEGACY,
    calls_itself="mcp-servers/everything",
    tools=frozenset(
        {
            *("echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference"),
            *("get-structured-content", "get-sum", "get-tiny-image", "gzip-file-as-resource"),
            *("toggle-simulated-logging", "toggle-subscriber-updates", "trigger-long-running-operation"),
            "simulate-research-query",
        }
    ),
    tool="get-structured-content",
    args={"location": "Chicago"},
    says="Light rain / drizzle",
    structured={"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82},
    environment={"PORT": "{port}"},
)
TIME = RealServer(
    "mcp-server-time",
    proxied(MADE / "servers/bin/mcp-server-time", "--local-timezone", "UTC"),
    kind="streamable",
    version=LEGACY,
    calls_itself="mcp-time",
    tools=frozenset({"get_current_time", "convert_time"}),
    tool="convert_time",
    args={"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata"},
    says="T08:30:00+05:30",
)
GIT = RealServer(
    "mcp-server-git",
    proxied(MADE / "servers/bin/mcp-server-git", "--repository", "{folder}"),
    kind="streamable",
    version=LEGACY,
    calls_itself="mcp-git",
    tools=frozenset(
        {
            *("git_status", "git_diff_unstaged", "git_diff_staged", "git_diff", "git_commit", "git_add", "git_reset"),
            *("git_log", "git_create_branch", "git_checkout", "git_show", "git_branch"),
        }
    ),
    tool="git_log",
    args={"repo_path": "{folder}", "max_count": 3},
    says="Message: First light",
    prepare=one_commit,
)
FILESYSTEM = RealServer(
    "server-filesystem",
    proxied(*npm("server-filesystem"), "{folder}"),
    kind="streamable",
    version=LEGACY,
    calls_itself="secure-filesystem-server",
    tools=frozenset(
        {
            *("read_file", "read_text_file", "read_media_file", "read_multiple_files", "write_file", "edit_file"),
            *("create_directory", "list_directory", "list_directory_with_sizes", "directory_tree", "move_file"),
            *("search_files", "get_file_info", "list_allowed_directories"),
        }
    ),
    tool="read_text_file",
    args={"path": "{folder}/poem.txt"},
    says="Über allen Gipfeln",
    structured={"content": "Über allen Gipfeln\n"},
    prepare=one_file,
)
MEMORY = RealServer(
    "server-memory",
    proxied(*npm("server-memory")),
    kind="sse",
    version=LEGACY,
    calls_itself="memory-server",
    tools=frozenset(
        {
            *("create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations"),
            *("delete_relations", "read_graph", "search_nodes", "open_nodes"),
        }
    ),
    tool="search_nodes",
    args={"query": "tea"},
    says="likes tea",
    structured={"entities": [ADA], "relations": []},
    path="/sse",
    environment={"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
    prepare=one_memory,
)
SDK = RealServer(
    "Python SDK",
    sdk(),
    kind="modern",
    version=MODERN,
    calls_itself="sums",
    tools=frozenset({"add"}),
    tool="add",
    args={"a": 2, "b": 40},
    says="42",
    structured={"result": 42},
)
PLAIN = RealServer(
    "plain JSON-RPC",
    (sys.executable, HERE / "plain_server.py", "{port}"),
    kind="plain",
    version=None,
    calls_itself=None,
    tools=frozenset({"forecast"}),
    tool="forecast",
    args={"city": "Oslo"},
    says="Snow, -3 °C",
    path="/rpc",
)
EVERYTHING_SSE = replace(EVERYTHING, name="server-everything sse", command=everything("sse"), kind="sse", path="/sse")
SDK_LEGACY = replace(SDK, name="Python SDK legacy", command=sdk("legacy"), kind="streamable", version=LEGACY)
SDK_JSON = replace(SDK, name="Python SDK json", command=sdk("json"))
SDK_LEGACY_JSON = replace(SDK_LEGACY, name="Python SDK legacy json", command=sdk("legacy", "json"))

SERVERS = (
    *(EVERYTHING, EVERYTHING_SSE, TIME, GIT, FILESYSTEM, MEMORY),
    *(SDK, SDK_JSON, SDK_LEGACY, SDK_LEGACY_JSON, PLAIN),
)
RESTARTED = (EVERYTHING, EVERYTHING_SSE, TIME, MEMORY, SDK, SDK_LEGACY, PLAIN)
"""Of each way to lose what was agreed before, one."""


def named(server: RealServer) -> str:
    return server.name.replace(" ", "-")
