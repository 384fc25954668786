"""Which operations does the served contract have, and where would each go?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import yaml

from api.http.openapi.reference_page import SCALAR
from api.kit.crypto.secret import Secret
from api.main.app import build_router_app
from api.main.settings import OAuthApp, Settings


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    template: str
    is_open: bool
    takes_body: bool

    @property
    def parameters(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.template)

    def path(self, ids: Mapping[str, str]) -> str:
        return self.template.format(**ids)

    @property
    def is_about_a_connection(self) -> bool:
        """It is for servers that use OAuth, and for no others."""
        return "/oauth/" in self.template and "serverId" in self.parameters

    def send(self, caller: httpx2.Client, ids: Mapping[str, str], body: Any = None) -> httpx2.Response:
        return caller.request(
            self.method, self.path(ids), json=({} if body is None else body) if self.takes_body else None
        )

    def __str__(self) -> str:
        return self.id


def stripped(response: httpx2.Response) -> tuple[int, bytes, list[tuple[str, str]]]:
    """All of an answer but what differs each time, and whether it is a stored one."""
    differ = ("x-request-id", "date", "idempotent-replayed")
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in differ]
    return response.status_code, response.content, headers


def is_replayed(response: httpx2.Response) -> bool:
    """Whether the answer says that it is the stored one of an earlier request."""
    values = response.headers.get_list("Idempotent-Replayed")
    assert values in ([], ["true"])
    return values == ["true"]


def _operations() -> list[Operation]:
    served = build_router_app(Settings()).state.openapi.yaml
    paths = yaml.load(served, yaml.CSafeLoader)["paths"]
    return [
        Operation(item["operationId"], method.upper(), path, item["security"] == [], "requestBody" in item)
        for path, methods in paths.items()
        for method, item in methods.items()
    ]


OPERATIONS = _operations()
GUARDED = [operation for operation in OPERATIONS if not operation.is_open]
IN_A_WORKSPACE = [operation for operation in GUARDED if "workspaceId" in operation.parameters]
# What it takes to begin to connect a server: an app of the operator's at a service, and a server there.
APPS = {"NOTION": OAuthApp("plugboard-at-notion", Secret("canary-app"))}
NOTION = {"name": "Notion", "authType": "oauth", "serviceType": "notion", "url": None, "config": {}}
BY_CLIENT = {
    "name": "By client",
    "authType": "oauth",
    "oauthGrant": "client_credentials",
    "url": "https://mcp.example.com/mcp",
    "config": {"clientId": "machine", "clientSecret": "canary-machine"},
}
# For where it is refused before anything is looked up.
SOME_IDS = {
    "workspaceId": "ws_3kq8v0zj5m1t7r2x9c4b",
    "serverId": "server_w7pk1kd3f9g2h0n4q8v0zj5m1t7r2x9c4b",
    "agentId": "agent_w7pk1kd3f9h4k6n4q8v0zj5m1t7r2x9c4b",
    "keyId": "key_8m2d5w0rt4k7z1x9c3vb",
    "serviceType": "notion",
    "issuer": "9f86d081884c7d659a2feaa0c55ad015",
    "document": "9f86d081884c7d659a2feaa0c55ad015.json",
    "fileName": SCALAR,
    "ticket": "VGhlcmUgaXMgbm8gc3VjaCB0aWNrZXQsIGFueXdoZXI",
}
