"""A warm call makes one read of the store and one request upstream; a warm list makes the read alone."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.api_keys.service import make_operator_key
from api.connections.revocation.job import PREFIX as OUTBOX
from api.http.fast_path import FastPath
from api.http.middleware import RequestMiddleware
from api.main.app import build_router_app, problem_response
from api.main.settings import Settings
from demo.mcp_servers import ModernServer, PlainServer
from tests.fakes.upstream_host import UpstreamHost
from tests.harness import Plugboard, listening
from tests.toolbox.conftest import AT_HOME
from tests.toolbox.toolbox_client import ToolboxClient


@dataclass
class ObservedProcess:
    """The outbox asks what is left to revoke, at the start and then each minute: that is of no call."""

    toolbox: ToolboxClient
    log_lines: list[str]

    @property
    def reads(self) -> list[str]:
        return [line for line in self.log_lines if OUTBOX not in line]


@contextmanager
def watched(upstream_host: UpstreamHost, data_dir: Path) -> Iterator[ObservedProcess]:
    """A Plugboard that tells of each statement by which its database is read."""
    settings = Settings(data_dir=data_dir, egress=AT_HOME)
    app = build_router_app(settings)
    notes: list[str] = []
    with listening(RequestMiddleware(FastPath(app, problem_response))) as url:
        parts: Any = app.state.container
        parts.store._store._reading.set_trace_callback(notes.append)
        key = asyncio.run(make_operator_key(parts.store, parts.key_maker)).reveal_text()
        plugboard = Plugboard(url, settings, key)
        try:
            yield ObservedProcess(ToolboxClient(plugboard.make_workspace(), upstream_host), notes)
        finally:
            plugboard.close()


def test_a_warm_call_makes_one_read_and_one_request(upstream_host: UpstreamHost, tmp_path: Path) -> None:
    with watched(upstream_host, tmp_path) as plugboard:
        toolbox, fake = plugboard.toolbox, ModernServer()
        agent = toolbox.agent(toolbox.server(fake))
        toolbox.call(agent, "mcp_weather_echo", {"text": "warm"})
        plugboard.log_lines.clear()
        fake.requests.clear()

        toolbox.call(agent, "mcp_weather_echo", {"text": "hot"})

        assert [read.split()[:2] for read in plugboard.reads] == [["SELECT", "version"]]
        assert fake.methods == ["tools/call"]


def test_a_warm_list_makes_one_read_and_no_request(upstream_host: UpstreamHost, tmp_path: Path) -> None:
    with watched(upstream_host, tmp_path) as plugboard:
        toolbox, fakes = plugboard.toolbox, [PlainServer(), PlainServer()]
        agent = toolbox.agent(*(toolbox.server(fake, f"s{number}") for number, fake in enumerate(fakes)))
        before = toolbox.list(agent)
        plugboard.log_lines.clear()
        for fake in fakes:
            fake.requests.clear()

        assert toolbox.list(agent) == before
        assert [read.split()[:2] for read in plugboard.reads] == [["SELECT", "version"]]
        assert [fake.methods for fake in fakes] == [[], []]


def test_a_call_after_a_change_reads_what_has_changed_at_once(upstream_host: UpstreamHost, tmp_path: Path) -> None:
    with watched(upstream_host, tmp_path) as plugboard:
        toolbox = plugboard.toolbox
        servers = [toolbox.server(PlainServer(), f"s{number}") for number in range(5)]
        agent = toolbox.agent(*servers)
        toolbox.call(agent, "mcp_s0_echo")
        toolbox.change(servers[1], name="Other")
        plugboard.log_lines.clear()

        toolbox.call(agent, "mcp_s0_echo")

        assert len(plugboard.reads) <= 1 + 2 + len(servers)  # the revision, the key and the agent, the servers
