"""The client's address is in the log and in audit records, also behind proxies, and nobody can forge it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from api.http.client_address import ClientAddresses
from api.kit.logs import RequestLog
from api.main.app import create_app
from api.main.settings import Settings
from demo.serving import listening
from tests.harness import Workspace, caller, served

TRUSTED = "127.0.0.1, 10.0.0.0/8, fd00::/8"


def address(*forwarded: str, peer: str | None = "127.0.0.1", trusted: str = TRUSTED) -> str | None:
    headers = [(b"x-forwarded-for", line.encode()) for line in forwarded]
    scope: Any = {"client": (peer, 4711) if peer else None, "headers": headers}
    return ClientAddresses(trusted).of(scope)


@pytest.mark.parametrize(
    ("forwarded", "expected"),
    [
        ((), "127.0.0.1"),
        (("203.0.113.9",), "203.0.113.9"),
        (("1.1.1.1, 203.0.113.9",), "203.0.113.9"),
        (("203.0.113.9, 10.0.0.7",), "203.0.113.9"),
        (("203.0.113.9", "10.0.0.7"), "203.0.113.9"),
        (("10.0.0.7, 10.0.0.8",), "10.0.0.7"),
        (("203.0.113.9:51000",), "203.0.113.9"),
        (("[2001:db8::1]:443, fd00::2",), "2001:db8::1"),
        (("::ffff:203.0.113.9",), "203.0.113.9"),
        (("unknown, 10.0.0.7",), "10.0.0.7"),
        (("<script>",), "127.0.0.1"),
        (("fe80::1%" + "x" * 3000,), "127.0.0.1"),
        (("[fe80::1%25eth0]:443",), "127.0.0.1"),
        (("fe80::1%\x1b[31m, 10.0.0.7",), "10.0.0.7"),
        (("",), "127.0.0.1"),
        ((", ".join(["1.1.1.1"] + ["10.0.0.1"] * 5000),), "10.0.0.1"),
    ],
)
def test_the_address_is_the_last_that_a_trusted_proxy_names(forwarded: tuple[str, ...], expected: str) -> None:
    assert address(*forwarded) == expected


def test_a_client_that_is_no_trusted_proxy_names_no_address() -> None:
    assert address("1.1.1.1", peer="203.0.113.9") == "203.0.113.9"
    assert address("1.1.1.1", trusted="") == "127.0.0.1"
    assert address("1.1.1.1", peer=None) is None


def test_a_proxy_on_the_same_link_is_trusted_whatever_its_scope_id() -> None:
    """The scope id of a peer comes from the operating system."""
    assert address("203.0.113.9", peer="fe80::1%eth0", trusted="fe80::/10") == "203.0.113.9"


def test_the_address_is_in_audit_records(tmp_path: Path) -> None:
    with served(Settings(data_dir=tmp_path, trusted_proxies="127.0.0.1")) as plugboard:
        workspace = plugboard.make_workspace()
        with caller(plugboard.url, workspace.key, **{"X-Forwarded-For": "1.1.1.1, 203.0.113.9"}) as client:
            assert client.post(workspace.agents, json={"name": "Support"}).status_code == 201

        records = workspace.admin.get(workspace.audit).json()

    assert [(record["action"], record["clientAddress"]) for record in records][:2] == [
        ("agent.created", "203.0.113.9"),
        ("api_key.created", "127.0.0.1"),
    ]


def test_the_address_is_in_the_log(workspace: Workspace) -> None:
    stream = io.StringIO()
    with (
        listening(create_app(workspace.plugboard.settings, access_log=RequestLog(stream))) as url,
        caller(url, **{"X-Forwarded-For": "1.1.1.1"}) as anyone,
    ):
        anyone.get("/healthz")

    assert json.loads(stream.getvalue().splitlines()[0])["client_address"] == "127.0.0.1", "no proxy is trusted"
