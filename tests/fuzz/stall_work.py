"""What Plugboard does with each kind of input, and the CPU time of the longest piece that holds the event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from time import thread_time
from typing import Any

from api.agents.schemas import AgentDraft
from api.errors import ValidationFailed
from api.http.validation import validate
from api.kit.fair_thread import FairThread
from api.kit.redaction import Redactor
from api.kit.strict_json import InvalidJson, parse_json
from api.toolbox.json_schema.normalise import normalise
from api.toolbox.json_schema.validation import Validator
from api.toolbox.listing.client_formats import FORMATS, render
from api.toolbox.listing.tool_list import ToolList
from api.toolbox.output.conversion import LargeResults
from api.toolbox.output.results import of_tool
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from integrations import ListedTools, UpstreamError
from integrations.mcp.jsonrpc import parse_messages
from integrations.mcp.sse import EventStream
from tests.cpu_time import longest_turn
from tests.fuzz.stall_inputs import SECRETS

CHUNK = 65_536
REFERENCE_SECONDS = 0.012
"""The CPU time of `floor` where the limits were set."""
REDACTOR = Redactor({"a-secret-of-some-length-0123456789", "another/secret+of==some%length", *SECRETS})


def floor() -> float:
    """The CPU time of work that never changes: how fast this machine is just now."""
    numbers = {str(n): [n, {"n": n}] for n in range(2_000)}
    begun = thread_time()
    for _ in range(2):
        json.loads(json.dumps(numbers))
        sorted(range(20_000), key=lambda n: -n % 977)
    return thread_time() - begun


def slowness() -> float:
    """How many times slower than where the limits were set; at least 1."""
    return max(1.0, min(floor() for _ in range(3)) / REFERENCE_SECONDS)


def longest_piece(kind: str, given: Any) -> float:
    """In seconds of CPU."""
    if kind in PIECES:
        return max(_timed(piece) for piece in PIECES[kind](given))
    sent = json.dumps({"jsonrpc": "2.0", "id": 1, "result": given}).encode() if kind == "list" else given
    return asyncio.run(longest_turn(TASKS[kind](sent)))


def _timed(piece: Callable[[], Any]) -> float:
    begun = thread_time()
    piece()
    return thread_time() - begun


def _schema(schema: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: normalise(schema)
    yield lambda: Validator.of(schema)


def _validation(given: Any) -> Iterator[Callable[[], Any]]:
    schema, arguments = given
    validator = Validator.of(schema)
    yield lambda: validator.check(arguments)


def _stream(stream: bytes) -> Iterator[Callable[[], Any]]:
    parser = EventStream()
    for start in range(0, len(stream), CHUNK):
        yield lambda start=start: _fed(parser, stream[start : start + CHUNK])  # type: ignore[misc]


def _fed(parser: EventStream, chunk: bytes) -> None:
    try:
        for event in parser.feed(chunk):
            parse_messages(event.data)
    except UpstreamError:
        return


def _body(body: bytes) -> Iterator[Callable[[], Any]]:
    yield lambda: _decoded(body)


def _decoded(body: bytes) -> None:
    try:
        validate(AgentDraft, parse_json(body))
    except (InvalidJson, ValidationFailed):
        return


async def _list(message: bytes) -> None:
    """As it comes from a server, which is parsed first."""
    try:
        (response,) = parse_messages(message)
    except UpstreamError:
        return
    await asyncio.sleep(0)
    listed = ListedTools(tuple(response.result))  # type: ignore[arg-type, union-attr]
    catalog = await (await ToolCatalog.of(listed, 0, REDACTOR)).prepare()
    shown = [tool.present(alias, "server_1", "docs") for alias, tool in list(catalog.by_alias("docs").items())[:100]]
    for show in FORMATS.values():
        await render(ToolList(shown, []), show)


async def _result(result: Any) -> None:
    await LargeResults(FairThread(), "workspace").convert(of_tool, result, REDACTOR)


async def _redactor(secrets: Any) -> None:
    await Redactor.of(secrets)


PIECES: Mapping[str, Callable[[Any], Iterator[Callable[[], Any]]]] = {
    "schema": _schema,
    "validation": _validation,
    "stream": _stream,
    "body": _body,
}
TASKS: Mapping[str, Callable[[Any], Awaitable[Any]]] = {
    "list": _list,
    "result": _result,
    "redactor": _redactor,
}
