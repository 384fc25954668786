"""Whatever a vendor says, and whatever it is asked, an agent gets an answer that it can act on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from api.kit.egress.policy import EgressPolicy
from api.main.settings import Settings
from integrations import load_services, services
from tests.fakes.raw_upstream import ReceivedRequest, upstream
from tests.harness import served
from tests.toolkits.connected_service import Json, ServiceTools

MANIFEST = """
name = "odd"
title = "Odd"
description = "Says strange things."
console_url = "https://odd.example/keys"
docs_url = "https://odd.example/docs"
auth_types = ["header"]
api_base_url = "https://api.odd.example"

[[config_fields]]
name = "apiKey"
title = "API key"
description = "Made at Odd."
secret = true

[[tools]]
name = "odd_read"
description = "Read."
writes = false

[[tools]]
name = "odd_write"
description = "Write."
writes = true

[[tools]]
name = "odd_write_twice"
description = "Write."
writes = true
"""
TOOLS = '''
from __future__ import annotations

from integrations.service_client import CredentialRejected, RateLimited, Rejected, Reply
from integrations.service_client import ServerTrouble, ServiceClient, Verdict
from integrations.tool import Params, Result, tool


class OddApi(ServiceClient):
    def verdict(self, reply: Reply) -> Verdict:
        if reply.status == 401:
            return CredentialRejected()
        if reply.status == 429:
            return RateLimited(60)
        if reply.status >= 500:
            return ServerTrouble(self.unavailable_text(reply))
        return None if reply.status == 200 else Rejected("Not there: odd_write makes one.")


class Which(Params):
    name: str = ""


class Said(Result):
    said: str
    number: int = 0
    notes: list[str] = []

    def text(self) -> str:
        return f"odd_read and `odd_read`: {self.said} {' '.join(self.notes)}"


@tool("Read")
async def odd_read(api: OddApi, ask: Which) -> Said:
    """Read. What is read,
    odd_write wrote."""
    found = await api.get(f"/said/{ask.name}")
    return Said(said=found["said"], number=int(found.get("number", 0)), notes=["Next: `odd_write`."])


@tool("Write", writes=True)
async def odd_write(api: OddApi, ask: Which) -> Said:
    """Write."""
    found = await api.request("POST", "/said", body={"name": ask.name})
    return Said(said=found["said"], number=int(found.get("number", 0)))


@tool("Write twice", writes=True)
async def odd_write_twice(api: OddApi, ask: Which) -> Said:
    """Write."""
    await api.request("POST", "/said", body={"name": ask.name})
    await api.request("PUT", "/said", body={"name": ask.name})
    return Said(said="done")


TOOLS = [odd_read, odd_write, odd_write_twice]
API = OddApi
'''
SAID = b'{"said": "hello"}'
DOWN = b"HTTP/1.1 503 Service Unavailable"
T = TypeVar("T")


class OddVendor:
    def __init__(self, **said: bytes) -> None:
        """The response to each method: a body, or a complete response with a status line."""
        self.said = {"GET": SAID, "POST": SAID, "PUT": SAID, **said}
        self.seen: list[str] = []

    async def __call__(self, visit: ReceivedRequest, writer: Any) -> None:
        method = visit.line.split(" ", 1)[0]
        self.seen.append(visit.line.rpartition(" ")[0])
        text = self.said[method]
        status, body = (text, b"{}") if text.startswith(b"HTTP/") else (b"HTTP/1.1 200 OK", text)
        writer.write(status + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    created = tmp_path / "services" / "odd"
    created.mkdir(parents=True)
    (created / "manifest.toml").write_text(MANIFEST, encoding="utf-8")
    (created / "tools.py").write_text(TOOLS, encoding="utf-8")
    return created.parent


async def run_with(odd: OddVendor, folder: Path, use: Callable[[ServiceTools], T]) -> T:
    async with upstream(odd) as there:
        addresses = {"ODD_API_BASE_URL": there.url("").rstrip("/")}
        egress = EgressPolicy.parse("127.0.0.1")
        settings = Settings(data_dir=folder.parent / "var", egress=egress, addresses=addresses)
        return await asyncio.to_thread(_used, settings, folder, use)


def _used(settings: Settings, folder: Path, use: Callable[[ServiceTools], T]) -> T:
    with served(settings, catalog={**services(), **load_services(folder)}) as plugboard:
        return use(ServiceTools.of(plugboard, "odd", authType="header", config={"apiKey": "canary-odd"}))


def idempotent_writes(desk: ServiceTools) -> Json:
    return desk.call("odd_write", name="a")


@pytest.mark.requirement("TRS-01")
async def test_a_lone_surrogate_in_a_response_is_replaced(folder: Path) -> None:
    odd = OddVendor(POST=b'{"said": "hello \\ud83d!"}')

    result = await run_with(odd, folder, idempotent_writes)

    assert result["isError"] is False
    assert result["structuredContent"]["said"] == "hello \N{REPLACEMENT CHARACTER}!"
    assert result["text"].endswith("hello \N{REPLACEMENT CHARACTER}! ")
    assert odd.seen == ["POST /said"]


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
async def test_a_response_with_an_infinite_number_leaves_the_outcome_open(folder: Path, number: str) -> None:
    odd = OddVendor(POST=b'{"said": "hello", "number": %s}' % number.encode())

    result = await run_with(odd, folder, idempotent_writes)

    assert result["error"]["kind"] == "upstream_unavailable"
    assert result["text"] == (
        "Error: Odd sent a response that Plugboard does not understand. "
        "All or part of it was done before that: check before you repeat it."
    )
    assert odd.seen == ["POST /said"]


@pytest.mark.requirement("REL-14")
@pytest.mark.parametrize(
    ("second", "kind"),
    [
        ("429 Too Many Requests", "rate_limited"),
        ("401 Unauthorized", "reconnect_required"),
        ("404 Not Found", "upstream_refused"),
    ],
)
async def test_a_write_with_an_unknown_outcome_is_not_repeated_under_its_idempotency_key(
    folder: Path, second: str, kind: str
) -> None:
    odd = OddVendor(PUT=f"HTTP/1.1 {second}".encode())

    def use(desk: ServiceTools) -> list[Json]:
        body = {"toolName": desk.name("odd_write_twice"), "args": {"name": "a"}}
        path, key = f"{desk.workspace.agents}/{desk.agent}/tool-calls", {"Idempotency-Key": "the-same"}
        return [desk.workspace.admin.post(path, json=body, headers=key).json() for _ in range(3)]

    answers = await run_with(odd, folder, use)

    assert {response["error"]["kind"] for response in answers} == {kind}
    assert odd.seen.count("POST /said") == 1


async def test_a_credential_rejected_midway_is_reported_with_what_was_done(folder: Path) -> None:
    odd = OddVendor(PUT=b"HTTP/1.1 401 Unauthorized")

    result = await run_with(odd, folder, lambda desk: desk.call("odd_write_twice", name="a"))

    assert result["text"].endswith("All or part of it was done before that: check before you repeat it.")


@pytest.mark.requirement("REL-15")
@pytest.mark.parametrize(
    ("name", "tool"),
    [("x" * 3000, "odd_read"), ("é", "odd_read"), ("\ud83d", "odd_read"), ("\ud83d", "odd_write")],
    ids=["too long", "not ASCII", "half a character", "half a character to write"],
)
async def test_arguments_that_cannot_be_sent_do_not_open_the_breaker(folder: Path, name: str, tool: str) -> None:
    odd = OddVendor()

    def use(desk: ServiceTools) -> list[Json]:
        body = json.dumps({"toolName": desk.name(tool), "args": {"name": name}})
        path = f"{desk.workspace.agents}/{desk.agent}/tool-calls"
        kind = {"Content-Type": "application/json"}
        requests = [desk.workspace.admin.post(path, content=body, headers=kind).json() for _ in range(6)]
        return [*requests, desk.call("odd_read", name="a")]

    *requested, after = await run_with(odd, folder, use)

    assert {item.get("error", item).get("kind", item.get("code")) for item in requested} <= {
        "invalid_arguments",
        "unreadable",
    }
    assert (after["isError"], odd.seen) == (False, ["GET /said/a"])


@pytest.mark.requirement("REL-15")
@pytest.mark.parametrize(("status", "is_shut"), [(b"HTTP/1.1 500 Internal Server Error", False), (DOWN, True)])
async def test_a_server_error_opens_the_breaker_only_if_the_service_is_down(
    folder: Path, status: bytes, is_shut: bool
) -> None:
    odd = OddVendor(POST=status)

    def use(desk: ServiceTools) -> Json:
        for _ in range(5):
            desk.failure("odd_write", "upstream_unavailable", name="a")
        return desk.call("odd_read", name="a")

    assert (await run_with(odd, folder, use))["isError"] is is_shut


async def test_texts_use_the_tool_names_of_the_agent(folder: Path) -> None:
    """But for a vendor's data, which are as they are."""
    odd = OddVendor(GET=b'{"said": "odd_write"}')

    def use(desk: ServiceTools) -> tuple[Json, Json, Json, str]:
        read, listed = desk.call("odd_read", name="a"), desk.list_tools()["odd_read_acme"]
        odd.said["GET"] = b"HTTP/1.1 404 Not Found"
        body = {"toolName": "odd_read", "args": {}}
        left_out = desk.workspace.admin.post(f"{desk.workspace.agents}/{desk.agent}/tool-calls", json=body)
        assert left_out.status_code == 404
        return read, listed, desk.call("odd_read", name="b"), left_out.json()["detail"]

    read, listed, failed, left_out = await run_with(odd, folder, use)

    assert listed["description"] == "Read. What is read,\nodd_write_acme wrote."
    assert read["text"] == "odd_read and `odd_read_acme`: odd_write Next: `odd_write_acme`."
    assert read["structuredContent"] == {"said": "odd_write", "number": 0, "notes": ["Next: `odd_write_acme`."]}
    assert failed["text"] == "Error: Not there: odd_write_acme makes one."
    assert left_out.endswith("Did you mean `odd_read_acme`?")
