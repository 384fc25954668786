"""How much memory a hostile answer takes, measured from outside."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.process import Process, serving
from tests.fakes.bombs import gzipped_zeros
from tests.fakes.hostile_mcp import HEAD, STREAM, events, mcp, with_id, with_result
from tests.fakes.raw_upstream import Responder, pouring, responding, upstream_in_thread

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of another process's memory"),
    pytest.mark.requirement("EGR-17"),
]

MOST_MB = 32.0
SIZE = 4_000_000
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def full_of(unit: bytes, size: int = SIZE) -> bytes:
    return unit * (size // len(unit))


def content(inside: bytes) -> Responder:
    return with_result(b'{"content":[' + inside + b"]}")


def text(inside: bytes) -> Responder:
    return content(b'{"type":"text","text":"' + inside + b'"}')


def tools(inside: bytes) -> Responder:
    return with_result(b'{"tools":[' + inside + b"]}")


CALLS: Mapping[str, Responder] = {
    "a bomb": responding(gzipped_zeros(100), Content_Encoding="gzip"),
    "a body without end": pouring(HEAD + b"\r\n[", b"0," * 1000),
    "comments without end": pouring(STREAM, b": " + b"x" * 1000 + b"\n"),
    "an event without end": pouring(STREAM, b"data: " + b"x" * 1000),
    "lines without end": pouring(STREAM, b"data: " + b"x" * 50 + b"\n"),
    "heads without end": pouring(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "small chunks without end": pouring(CHUNKED, b"1\r\n \r\n" * 1000),
    "fields without end": pouring(HEAD, b"X: y\r\n" * 1000),
    "lists": content(full_of(b"[],") + b"0"),
    "lists in lists": content(full_of(b"[[[]]],") + b"0"),
    "objects": content(full_of(b'{"a":0},') + b"0"),
    "numbers": content(full_of(b"1.5,") + b"0"),
    "texts": content(full_of(b'"ab",') + b"0"),
    "few enough lists": content(full_of(b"[],", 180_000) + b"0"),
    "deep": content(b"[" * 100_000),
    "deep objects": content(full_of(b'{"a":')),
    "a long text": text(full_of(b"long ")),
    "a long text of emoji": text(full_of(b"\xf0\x9f\x99\x82")),
    "a long text in Thai": text(full_of(b"\xe0\xb8\x84 ")),
    "an image": content(b'{"type":"image","mimeType":"image/png","data":"' + full_of(b"abcd") + b'"}'),
    "structured": with_result(b'{"content":[],"structuredContent":{"a":"' + full_of(b"a b ") + b'"}}'),
    "a long error": with_id(b'{"id":%d,"error":{"code":1,"message":"' + full_of(b"no ") + b'"}}'),
    "a long batch": with_id(b"[" + full_of(b'{"id":7,"result":{}},') + b"0]"),
    "lines of lists": events(full_of(b"data:[[[[[[[[[[[[\n", 1_000_000) + b"\n"),
}
LISTS: Mapping[str, Responder] = {
    "many tools": tools(full_of(b'{"name":"a"},', 900_000) + b"0"),
    "a long description": tools(b'{"name":"a","description":"' + full_of(b"\xc3\xa9\xe2\x80\x8b ") + b'"}'),
    "a long name": tools(b'{"name":"' + full_of(b"ab") + b'"}'),
    "a wide schema": tools(b'{"name":"a","inputSchema":{"properties":{' + full_of(b'"a":{},', 400_000) + b'"b":0}}}'),
    "pages without end": with_id(
        b'{"id":%d,"result":{"tools":[{"name":"a","description":"' + full_of(b"ab ", 3_000_000) + b'"}],"nextCursor":"'
        b'x"}}'
    ),
}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("hostile memory") / "data"
    with serving(folder, PLUGBOARD_EGRESS_ALLOW="127.0.0.1") as process:
        with process.caller(process.key()) as caller:
            for response in (CALLS["a long text"], CALLS["few enough lists"]):  # what is loaded once, and kept
                memory_growth(process, caller, "bad", response)
        yield process


@pytest.mark.parametrize("responder", CALLS.values(), ids=CALLS)
def test_a_hostile_response_uses_little_memory(process: Process, responder: Responder) -> None:
    with process.caller(process.key()) as caller:
        assert memory_growth(process, caller, "bad", responder) < MOST_MB


@pytest.mark.parametrize("responder", LISTS.values(), ids=LISTS)
def test_a_hostile_list_uses_little_memory(process: Process, responder: Responder) -> None:
    with process.caller(process.key()) as caller:
        assert memory_growth(process, caller, "tools/list", responder) < MOST_MB


def memory_growth(process: Process, caller: httpx2.Client, requested: str, responder: Responder) -> float:
    """By how many MB, at most, while a tool is called and all tools are listed."""
    workspace = f"/api/workspaces/{process.workspace_id()}"
    with upstream_in_thread(mcp({requested: responder})) as there:
        fields = {"name": "It", "url": there.url("/mcp"), "authType": "none", "config": {}, "timeoutSeconds": 1}
        server = create(caller, f"{workspace}/mcp-servers", **fields)
        agent = create(caller, f"{workspace}/agents", name="A", enabledMcpServerIds=[server["id"]])
        path = f"{workspace}/agents/{agent['id']}"
        before = megabytes(process, "VmRSS")
        Path(f"/proc/{process.popen.pid}/clear_refs").write_text("5")  # the peak is counted from here
        responses = [
            caller.post(f"{path}/tool-calls", json={"toolName": f"mcp_{server['slug']}_bad"}),
            caller.post(
                f"{path}/tool-calls", json={"toolName": f"mcp_{server['id']}", "args": {"method": "tools/list"}}
            ),
        ]
        responses += [caller.get(f"{path}/tools", params={"format": form}) for form in ("mcp", "openai")]
        peak = megabytes(process, "VmHWM")
        caller.delete(f"{workspace}/mcp-servers/{server['id']}", params={"detach": "true"})
    assert all(response.status_code in (200, 404) for response in responses)
    return peak - before


def create(caller: httpx2.Client, path: str, **fields: Any) -> dict[str, Any]:
    response = caller.post(path, json=fields)
    assert response.status_code == 201, response.text
    body: dict[str, Any] = response.json()
    return body


def megabytes(process: Process, name: str) -> float:
    lines = Path(f"/proc/{process.popen.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))
