"""Two versions of Plugboard that serve one store, and the outside world of both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from api.main.settings import Settings
from demo.mcp_servers import PlainServer
from demo.oauth_provider.server import OAuthProvider, oauth_provider
from demo.serving import listening
from tests.e2e.process import OURS, Program, plugboard, serving
from tests.harness import Plugboard, Workspace, caller

PUBLIC = "http://127.0.0.1:8400"
"""The address of both, as behind a proxy."""
OLD, NEW = "old", "new"
LAST_USE = "lastUsedAt"
Json = dict[str, Any]


@dataclass
class Outside:
    """The servers that both versions call."""

    weather: PlainServer
    weather_url: str
    provider: OAuthProvider

    def visit(self, url: str) -> str:
        """The path on Plugboard to which the provider redirects a browser, as it consents at once."""
        with caller(self.provider.origin) as browser:
            response = browser.get(url.removeprefix(self.provider.origin))
        assert response.status_code == 302, response.text
        return response.headers["Location"].removeprefix(PUBLIC)


@dataclass
class TwoVersions:
    """The programs of one installation and those of them that run."""

    data_dir: Path
    outside: Outside
    programs: Mapping[str, Program]
    store: Mapping[str, str]
    running: dict[str, Plugboard] = field(default_factory=dict)
    operator_key: str = ""

    @property
    def environment(self) -> dict[str, str]:
        return {**self.outside.provider.environment(), **self.store, "OAUTH_REDIRECT_BASE_URL": PUBLIC}

    def command(self, version: str, *arguments: str) -> str:
        run = plugboard(self.data_dir, *arguments, program=self.programs[version], **self.environment)
        assert run.returncode == 0, run.stderr
        return run.stdout

    @contextmanager
    def serving(self, *versions: str) -> Iterator[None]:
        with ExitStack() as stack:
            for version in versions:
                process = stack.enter_context(serving(self.data_dir, self.programs[version], **self.environment))
                self.running[version] = Plugboard(process.url, Settings(), self.operator_key)
                stack.callback(self.running[version].close)
            yield

    def make_workspace(self, version: str) -> Workspace:
        return self.running[version].make_workspace()

    def same(self, workspace: Workspace, version: str) -> Workspace:
        """The same workspace, at this version."""
        running = self.running[version]
        return Workspace(running, workspace.id, workspace.key, running.caller(workspace.key))


@contextmanager
def two_versions(folder: Path, old: Program, store: Mapping[str, str]) -> Iterator[TwoVersions]:
    weather = PlainServer()
    with listening(weather) as url, oauth_provider() as provider:
        provider.tenant("acme").add_client("machine", secret="canary-machine", grants=("client_credentials",))
        both = TwoVersions(folder / "var", Outside(weather, url, provider), {OLD: old, NEW: OURS}, store)
        both.operator_key = json.loads(both.command(OLD, "setup", "--operator", "--json"))["apiKey"]
        yield both


def shared(one: Any, other: Any) -> bool:
    """Whether two versions show the same, as far as both show it: the later one may add fields.

    When a key was last used is stored some time after the use. The order of a list may be another.
    """
    match one, other:
        case dict(), dict():
            return all(shared(one[name], other[name]) for name in one.keys() & other.keys() - {LAST_USE})
        case list(), list():
            return len(one) == len(other) and all(map(shared, sorted(one, key=_id), sorted(other, key=_id)))
        case _:
            return bool(one == other)


def _id(item: Any) -> str:
    return str(item.get("id", "")) if isinstance(item, dict) else ""


def listed(workspace: Workspace, path: str) -> list[Json]:
    response = workspace.admin.get(path)
    assert response.status_code == 200, response.text
    items: list[Json] = response.json()
    return items


def next_page(response: httpx2.Response) -> str | None:
    link = response.links.get("next")
    return link["url"] if link else None
