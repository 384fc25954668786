import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from api.kit.egress.policy import EgressPolicy
from api.main.settings import Settings
from api.toolbox.failures import MAYBE_DONE
from tests.fakes.bombs import gzipped_zeros
from tests.fakes.hostile_mcp import HEAD, STREAM, built, events, mcp, resetting, result, with_id, with_result
from tests.fakes.raw_upstream import Responder, closing_after, dripping, pouring, raw, responding, silent, upstream
from tests.harness import Plugboard, Workspace, many_callers, served

CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LISTS = b"data: " + b"[]," * 20 + b"\n"
MANY = 4_000_000
LONGEST_ANSWER = 250_000
LONGEST_ERROR = 5000
ENOUGH_SECONDS = 5  # where the time is not what is tested
PATIENCE = 6.0
NO_ANSWER = "no answer within 1 s. It is not known whether the call was carried out."
TOO_LARGE = "The upstream's response exceeds the size limit."
CANNOT_BE_READ = "The upstream's response cannot be read."
NOT_REACHED = "The upstream could not be reached."
CUT_OFF = "It closed the connection before its response was complete."
NOT_JSON = "The answer is not JSON."
NO_MESSAGE = "The answer is not a JSON-RPC message."
TOO_MANY_VALUES = "The answer holds more values than are accepted."
TOO_DEEP = "The answer is nested too deeply."
NOT_MINE = "The answer is to another request."
ENDED = "The stream ended before the answer."

Json = dict[str, Any]


@pytest.fixture(scope="module")
def plugboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("hostile"), egress=EgressPolicy.parse("127.0.0.1/32"))
    with served(settings) as plugboard:
        yield plugboard


@dataclass
class Caller:
    http: httpx2.AsyncClient
    workspace: Workspace

    async def server(self, url: str, seconds: int, slug: str = "it") -> tuple[Json, str]:
        """With its agent."""
        fields = {"name": slug, "slug": slug, "url": url, "authType": "none", "config": {}, "timeoutSeconds": seconds}
        server = (await self.http.post(self.workspace.servers, json=fields)).json()
        agent = {"name": "A", "enabledMcpServerIds": [server["id"]]}
        return server, (await self.http.post(self.workspace.agents, json=agent)).json()["id"]

    async def call(self, agent: str, tool: str) -> Json:
        body = {"toolName": f"mcp_it_{tool}", "args": {"text": "hello"} if tool == "good" else {}}
        return _read(await self.http.post(f"{self.workspace.agents}/{agent}/tool-calls", json=body))

    async def list(self, agent: str) -> Json:
        return _read(await self.http.get(f"{self.workspace.agents}/{agent}/tools"))

    async def check(self, server: Json) -> Json:
        return _read(await self.http.post(f"{self.workspace.servers}/{server['id']}/check"))


def _read(response: httpx2.Response) -> Json:
    assert response.status_code == 200, response.text
    assert len(response.content) < LONGEST_ANSWER
    read: Json = response.json()
    return read


async def hostile_call(workspace: Workspace, responder: Responder, seconds: int = ENOUGH_SECONDS) -> Json:
    """What comes of a call that is answered so. Whatever it is, the next one works, and so does the list."""
    async with (
        many_callers(workspace.plugboard.url, workspace.key) as http,
        upstream(mcp({"bad": responder})) as there,
    ):
        caller = Caller(http, workspace)
        _, agent = await caller.server(there.url("/mcp"), seconds)
        assert (await caller.call(agent, "good"))["text"] == '{"text": "hello"}'
        begun = time.monotonic()
        result = await caller.call(agent, "bad")
        assert time.monotonic() - begun < PATIENCE
        assert "error" not in result or len(json.dumps(result)) < LONGEST_ERROR
        assert (await caller.call(agent, "good"))["text"] == '{"text": "hello"}'
        assert len((await caller.list(agent))["tools"]) == 3
    return result


async def hostile_check_and_list(
    workspace: Workspace, responder: Responder, seconds: int = ENOUGH_SECONDS
) -> tuple[Json, Json]:
    """The check of a server that answers everything so, and an agent's tools where a server lists its own so."""
    async with (
        many_callers(workspace.plugboard.url, workspace.key) as http,
        upstream(mcp({"*": responder})) as always,
        upstream(mcp({"tools/list": responder})) as listing,
    ):
        caller = Caller(http, workspace)
        checked, _ = await caller.server(always.url("/mcp"), seconds)
        server, agent = await caller.server(listing.url("/mcp"), seconds, slug="other")
        begun = time.monotonic()
        check, listed = await asyncio.gather(caller.check(checked), caller.list(agent))
        assert time.monotonic() - begun < PATIENCE
        assert [tool["name"] for tool in listed["tools"]] == [f"mcp_{server['id']}"]
    return check, listed["unavailable"][0]


SILENT = [
    pytest.param(silent(), id="no answer"),
    pytest.param(dripping(HEAD + b"X: "), id="a head byte by byte"),
    pytest.param(dripping(HEAD + b"Content-Length: 9999\r\n\r\n{"), id="a body byte by byte"),
    pytest.param(dripping(CHUNKED, b"1\r\n \r\n"), id="chunks byte by byte"),
    pytest.param(dripping(STREAM, b": still here\n\n"), id="endless comments"),
    pytest.param(dripping(STREAM, b'data: {"jsonrpc":"2.0","method":"x"}\n\n'), id="events about something else"),
    pytest.param(raw(HEAD + b'Content-Length: 99\r\n\r\n{"jsonrpc":'), id="a body that stops"),
]
LARGE = [
    pytest.param(pouring(HEAD + b"\r\n[", b"0," * 1000), TOO_LARGE, id="an endless body"),
    pytest.param(pouring(STREAM, b": x" * 1000), TOO_LARGE, id="an endless comment"),
    pytest.param(pouring(STREAM, b"data: " + b"x" * 10_000), TOO_LARGE, id="an endless event"),
    pytest.param(pouring(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), TOO_LARGE, id="100 Continue without end"),
    pytest.param(pouring(CHUNKED + b"1;", b"x" * 10_000), TOO_LARGE, id="an extension of a chunk without end"),
    pytest.param(pouring(CHUNKED, b"0" * 10_000), TOO_LARGE, id="a size of a chunk without end"),
    pytest.param(pouring(HEAD, b"X: y\r\n" * 100), TOO_LARGE, id="endless fields"),
    pytest.param(responding(X="x" * 20_000), TOO_LARGE, id="a long field"),
    pytest.param(responding(**{f"X{n}": "x" * 1000 for n in range(100)}), TOO_LARGE, id="a long head"),
    pytest.param(with_result(b'"' + b"x" * 5_000_000 + b'"'), TOO_LARGE, id="giant"),
    pytest.param(responding(gzipped_zeros(50), Content_Encoding="gzip"), TOO_LARGE, id="a decompression bomb"),
    pytest.param(with_result(b"[" + b"[]," * (MANY // 3) + b"0]"), TOO_MANY_VALUES, id="many lists"),
    pytest.param(with_result(b"[" + b'{"a":0},' * (MANY // 8) + b"0]"), TOO_MANY_VALUES, id="many objects"),
    pytest.param(with_result(b"[" + b'"ab",' * (MANY // 5) + b"0]"), TOO_MANY_VALUES, id="many texts"),
    pytest.param(events(LISTS * 5_000 + b"\n"), TOO_MANY_VALUES, id="many lines of one event"),
    pytest.param(with_result(b"[" * 50_000), TOO_DEEP, id="deep"),
    pytest.param(with_result(b'{"a":' * 2000 + b"0" + b"}" * 2000), TOO_DEEP, id="deep objects"),
]
ANSWER = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}'
WRONG = [
    pytest.param(with_id(b"<html>Sign in</html>", "text/html"), NOT_JSON, id="a page"),
    pytest.param(responding(b"\x89PNG", Content_Type="image/png"), NOT_JSON, id="an image"),
    pytest.param(responding(b""), NOT_JSON, id="nothing"),
    pytest.param(with_result(b'"\xff\xfe"'), NOT_JSON, id="no UTF-8"),
    pytest.param(with_result(b'"\\ud800"'), NOT_JSON, id="a lone surrogate"),
    pytest.param(built(lambda number: (ANSWER % number).decode().encode("utf-16")), NOT_JSON, id="UTF-16"),
    pytest.param(events(b"data: \xff\n\n"), "The stream is not UTF-8.", id="a stream that is no UTF-8"),
    pytest.param(with_result(b"NaN"), NOT_JSON, id="not a number"),
    pytest.param(with_result(b"1e999"), NOT_JSON, id="an infinite number"),
    pytest.param(with_result(b"9" * 5000), NOT_JSON, id="a number of 5000 digits"),
    pytest.param(with_id(ANSWER.replace(b"%d", b"77777")), NOT_MINE, id="another id"),
    pytest.param(with_id(ANSWER.replace(b"%d", b'"%d"')), NOT_MINE, id="a text id"),
    pytest.param(with_id(ANSWER.replace(b"%d", b"true")), "an invalid id", id="a boolean id"),
    pytest.param(with_id(ANSWER.replace(b"%d", b"null")), NO_MESSAGE, id="no id"),
    pytest.param(events(b"data: " + ANSWER.replace(b"%d", b"7777") + b"\n\n"), ENDED, id="a stream to another id"),
    pytest.param(events(b""), ENDED, id="an empty stream"),
    pytest.param(with_id(b'{"id":%d,"error":{"code":"x"}}'), "The answer is an error without", id="no error"),
    pytest.param(with_id(b"[" + b"null," * 2000 + ANSWER + b"]"), "too many messages at once", id="a long batch"),
    pytest.param(raw(b"SSH-2.0-OpenSSH_9\r\n"), CANNOT_BE_READ, id="no HTTP"),
    pytest.param(raw(b"HTTP/1.1 999999 OK\r\n\r\n"), CANNOT_BE_READ, id="a status of six digits"),
    pytest.param(raw(b"HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), CANNOT_BE_READ, id="101"),
    pytest.param(raw(HEAD + b"Content-Length: -1\r\n\r\n"), CANNOT_BE_READ, id="a length below zero"),
    pytest.param(raw(HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), CANNOT_BE_READ, id="two lengths"),
    pytest.param(responding(b"x", Content_Encoding="br"), CANNOT_BE_READ, id="an unrequested encoding"),
    pytest.param(responding(b"x", Content_Encoding="gzip"), CANNOT_BE_READ, id="no gzip"),
    pytest.param(raw(CHUNKED + b"zz\r\n"), CANNOT_BE_READ, id="an invalid chunk size"),
    pytest.param(closing_after(HEAD + b'Content-Length: 99\r\n\r\n{"json'), NOT_REACHED, id="cut off in the body"),
    pytest.param(closing_after(HEAD), NOT_REACHED, id="cut off in the head"),
    pytest.param(closing_after(), NOT_REACHED, id="cut off before it"),
    pytest.param(resetting(HEAD + b"Content-Length: 99\r\n\r\n{"), NOT_REACHED, id="reset in the body"),
    pytest.param(resetting(), NOT_REACHED, id="reset"),
]


@pytest.mark.requirement("REL-12")
@pytest.mark.parametrize("responder", SILENT)
async def test_an_endless_response_is_given_up_in_time(workspace: Workspace, responder: Responder) -> None:
    called, (checked, listed) = await asyncio.gather(
        hostile_call(workspace, responder, seconds=1),
        hostile_check_and_list(neighbour(workspace), responder, seconds=1),
    )

    assert called["error"] == {"kind": "timeout"}
    assert called["text"] == f"Error calling MCP server: {NO_ANSWER}"
    assert checked["status"] == "unreachable"
    assert listed["reason"] == "timeout"


@pytest.mark.requirement("EGR-17")
@pytest.mark.parametrize(("responder", "text"), LARGE)
async def test_a_response_that_is_too_large_is_not_read(workspace: Workspace, responder: Responder, text: str) -> None:
    result = await hostile_call(workspace, responder)
    checked, listed = await hostile_check_and_list(neighbour(workspace), responder)

    assert result["error"] == {"kind": "upstream_unavailable"}
    assert result["text"] == f"Error calling MCP server: {text} {MAYBE_DONE}"
    assert listed["detail"] == f"Error calling MCP server: {text}"
    assert listed["reason"] == checked["status"] == "invalid"


@pytest.mark.parametrize(("responder", "text"), WRONG)
async def test_an_invalid_response_is_reported_as_invalid(
    workspace: Workspace, responder: Responder, text: str
) -> None:
    result = await hostile_call(workspace, responder)
    checked, listed = await hostile_check_and_list(neighbour(workspace), responder)

    assert result["error"] == {"kind": "upstream_unavailable"}
    assert result["text"].startswith("Error calling MCP server: ")
    assert result["text"].endswith(MAYBE_DONE)
    assert text in result["text"]
    assert (CUT_OFF if text == NOT_REACHED else text) in listed["detail"]
    assert checked["detail"] == listed["detail"]
    assert MAYBE_DONE not in listed["detail"]
    assert listed["reason"] == checked["status"] == ("unreachable" if text in (NOT_REACHED, ENDED) else "invalid")


def neighbour(workspace: Workspace) -> Workspace:
    return workspace.plugboard.make_workspace()


@pytest.mark.requirement("EGR-08")
@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"])
async def test_a_redirect_is_not_followed(workspace: Workspace, status: str) -> None:
    async with upstream(result({})) as elsewhere:
        answer = responding(status=status, Location=elsewhere.url("/mcp"))
        called = await hostile_call(workspace, answer)
        checked, listed = await hostile_check_and_list(neighbour(workspace), answer)

    assert called["text"] == f"Error calling MCP server: MCP server request failed: {status}"
    assert called["error"] == {"kind": "upstream_refused"}
    assert status in listed["detail"]
    assert status in checked["detail"]
    assert elsewhere.connections == 0


@pytest.mark.requirement("EGR-19")
async def test_an_endless_error_body_is_not_read(workspace: Workspace) -> None:
    result = await hostile_call(workspace, pouring(b"HTTP/1.1 500 Oh No\r\n\r\n", b"x" * 10_000))

    assert result["text"] == "Error calling MCP server: MCP server request failed: 500 Oh No"


@pytest.mark.parametrize(
    "responder",
    [
        pytest.param(with_id(b"[" + ANSWER.replace(b"%d", b"99999") + b"," + ANSWER + b"]"), id="a batch"),
        pytest.param(with_id(ANSWER.replace(b'"id"', b'"id":7777,"id"')), id="an id given twice"),
        pytest.param(with_id(ANSWER, "text/plain"), id="another type"),
        pytest.param(
            events(b"event: x\ndata: ?\n\n: hm\n\ndata: " + ANSWER + b"\n\n"), id="a stream with other events"
        ),
        pytest.param(result({"content": {"type": "text"}, "isError": "no"}), id="content that is no list"),
        pytest.param(result({"content": [None, 1, [], {}, {"type": 1}, {"type": None}]}), id="invalid blocks"),
        pytest.param(result({"content": [], "structuredContent": [[1]]}), id="structured content that is no object"),
        pytest.param(with_result(b'{"content":[],"content":[]}'), id="content given twice"),
    ],
)
async def test_unusual_but_valid_responses_are_accepted(workspace: Workspace, responder: Responder) -> None:
    assert await hostile_call(workspace, responder) == {"text": "", "content": [], "isError": False}


@pytest.mark.parametrize(
    ("unit", "shown"),
    [("\x90", ""), ("\x1b]a", "]a"), ("\x1b[1", "[1"), ("\u200d", ""), ("é\u200b", "é"), ("\U000e0041", "")],
)
async def test_text_full_of_invisible_characters_is_cleaned_quickly(
    workspace: Workspace, unit: str, shown: str
) -> None:
    text = unit * (300_000 // len(unit.encode()))
    called = await hostile_call(workspace, result({"content": [{"type": "text", "text": f"{text} end"}]}))

    said, _, note = called["text"].partition("\n[")
    assert set(said) <= set(f"{shown} end")
    assert len(said) < 50_000
    assert not note or note.endswith("to get the rest.]")


async def test_a_long_error_is_cut(workspace: Workspace) -> None:
    text = b'{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"' + b"a, " * 500_000 + b'","data":[[]]}}'
    result = await hostile_call(workspace, with_id(text))

    assert result["error"] == {"kind": "upstream_refused"}
    assert result["text"].startswith("Error calling MCP server: a, a, a")
    assert len(result["text"]) <= 1000


@pytest.mark.parametrize("depth", [100, 300, 490, 900])
async def test_deep_structured_content_is_cleaned_or_refused(workspace: Workspace, depth: int) -> None:
    deep = b'{"a":' * depth + b'"\\u001b[1m!"' + b"}" * depth
    result = await hostile_call(workspace, with_result(b'{"content":[],"structuredContent":%s}' % deep))

    assert result.get("text") in ("", f"Error calling MCP server: {TOO_DEEP} {MAYBE_DONE}")
    assert "\\u001b" not in json.dumps(result)
