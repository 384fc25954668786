"""The operations of the contract, and a world in which each of them can be called."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml

from tests.harness import Workspace
from tests.operations import NOTION, SOME_IDS

CONTRACT_FILE = Path(__file__).parents[2] / "openapi.yaml"
CONTRACT: dict[str, Any] = yaml.load(CONTRACT_FILE.read_bytes(), yaml.CSafeLoader)


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    described: Mapping[str, Any]

    def __str__(self) -> str:
        return str(self.described["operationId"])

    @property
    def example(self) -> dict[str, Any]:
        """A good body, but for the ids in it."""
        return dict(self._json["example"])

    @property
    def body_schema(self) -> dict[str, Any]:
        return dict(resolved(self._json["schema"]))

    @property
    def _json(self) -> Mapping[str, Any]:
        result: Mapping[str, Any] = self.described["requestBody"]["content"]["application/json"]
        return result


def resolved(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a `$ref` in the contract stands for; anything else stands for itself."""
    if "$ref" not in part:
        return part
    result: Any = CONTRACT
    for name in part["$ref"].removeprefix("#/").split("/"):
        result = result[name]
    return {**result, **{name: value for name, value in part.items() if name != "$ref"}}


OPERATIONS = [
    Operation(method.upper(), path, described)
    for path, methods in CONTRACT["paths"].items()
    for method, described in methods.items()
]
WITH_BODY = [operation for operation in OPERATIONS if "requestBody" in operation.described]
# Where a browser comes back from a provider: it has no key, and GET uses up a state, so that HEAD is refused.
OAUTH_CALLBACKS = [operation.path for operation in OPERATIONS if operation.path.startswith("/api/mcp/oauth/")]


@dataclass(frozen=True)
class PopulatedWorkspace:
    """A workspace with one of everything in it, and of servers two: one of them can be connected."""

    workspace: Workspace
    ids: Mapping[str, str]
    notion_ids: str

    @classmethod
    def create_in(cls, workspace: Workspace) -> "PopulatedWorkspace":
        server = workspace.make_silent_server()
        agent = workspace.make_agent(enabledMcpServerIds=[server["id"]])
        key = workspace.make_key("read")
        ids = {"workspaceId": workspace.id, "serverId": server["id"], "agentId": agent["id"], "keyId": key["id"]}
        return cls(workspace, {**SOME_IDS, **ids}, workspace.make_server(**NOTION)["id"])

    def path(self, operation: Operation) -> str:
        is_about_a_connection = "{serverId}/oauth/" in operation.path
        return operation.path.format(**{**self.ids, **({"serverId": self.notion_ids} if is_about_a_connection else {})})

    def send(self, operation: Operation, **request: Any) -> httpx2.Response:
        caller = self.workspace.plugboard.operator if operation.path == "/api/workspaces" else self.workspace.admin
        return caller.request(operation.method, self.path(operation), **request)

    def stored(self) -> list[Any]:
        """All that can be seen of the workspace, and which workspaces there are."""
        admin = self.workspace.admin
        lists = [self.workspace.servers, self.workspace.agents, self.workspace.api_keys, self.workspace.audit]
        seen = [admin.get(path).json() for path in [self.workspace.path, *lists]]
        for key in seen[3]:
            del key["lastUsedAt"]
        return [*seen, list(self._workspaces())]

    def _workspaces(self) -> Iterator[str]:
        operator = self.workspace.plugboard.operator
        path: str | None = "/api/workspaces?limit=100"
        while path:
            page = operator.get(path)
            yield from (item["id"] for item in page.json())
            path = page.links["next"]["url"] if "next" in page.links else None


def assert_problem(response: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The answer is the documented problem and nothing else."""
    assert (response.status_code, response.headers["Content-Type"]) == (status, "application/problem+json"), (
        response.text
    )
    problem: dict[str, Any] = response.json()
    assert problem.keys() - {"errors"} == {"type", "title", "status", "code", "detail"}
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"urn:plugboard:problem:{code}"
    assert all(item.keys() == {"path", "message"} for item in problem.get("errors", []))
    return problem


def documented(operation: Operation, response: httpx2.Response) -> bool:
    return str(response.status_code) in operation.described["responses"]
