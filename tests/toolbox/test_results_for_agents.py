"""What a result keeps on its way to an agent, what is removed from it, and where it is cut."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from api.toolbox.output.results import MAX_BLOCKS, MAX_TEXT
from demo.mcp_servers import McpRequest, McpResponse, PlainServer, error, result
from tests.toolbox.toolbox_client import SECRET, ToolboxClient, call_answered_with, failure

BOTH_WAYS = pytest.mark.parametrize("way", ["named", "generic"])


def returning(**answer: Any) -> Callable[[McpRequest], McpResponse]:
    return lambda request: result(request, answer)


def test_images_sounds_and_files_are_passed_on(toolbox: ToolboxClient) -> None:
    image = {"type": "image", "data": base64.b64encode(b"png" * 500).decode(), "mimeType": "image/png"}
    sound = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
    link = {"type": "resource_link", "uri": "file:///report", "name": "Report"}
    file = {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "inside"}}
    blob = {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "application/pdf", "blob": "AAAA"}}

    result = call_answered_with(toolbox, returning(content=[image, sound, link, file, blob]))

    assert result["content"] == [image, sound, link, file, blob]
    assert result["text"].splitlines() == [
        "[image (image/png)]",
        "[audio (audio/wav)]",
        "Report: file:///report",
        "inside",
        "[resource (application/pdf)]",
    ]


@pytest.mark.requirement("TRS-02")
def test_a_long_text_is_cut_and_says_so(toolbox: ToolboxClient) -> None:
    text = "A line of forty characters, all in all.\n" * 5000

    result = call_answered_with(toolbox, returning(content=[{"type": "text", "text": text}]))

    assert len(result["text"]) <= MAX_TEXT
    kept, _, note = result["text"].rpartition("\n")
    assert text.startswith(kept)
    assert kept.endswith("all in all.")
    assert note == (
        f"[{len(text) - len(kept)} of {len(text)} characters left out. Ask for less, or for the next page, to get the "
        "rest.]"
    )
    assert result["content"] == [{"type": "text", "text": result["text"]}]


@pytest.mark.requirement("TRS-02")
def test_all_texts_share_one_limit(toolbox: ToolboxClient) -> None:
    blocks = [{"type": "text", "text": f"{number} " * 5000} for number in range(20)]

    result = call_answered_with(toolbox, returning(content=blocks))

    assert len(result["text"]) <= MAX_TEXT + MAX_BLOCKS
    assert result["text"].splitlines()[-1] == (
        "[15 more parts left out. Ask for less, or for the next page, to get them.]"
    )


@pytest.mark.requirement("TRS-02")
def test_parts_that_cannot_be_cut_are_omitted_and_named(toolbox: ToolboxClient) -> None:
    image = {"type": "image", "data": "A" * 2_500_000, "mimeType": "image/png"}

    result = call_answered_with(toolbox, returning(content=[image], structuredContent={"rows": ["x" * 100] * 3000}))

    first, second = result["text"].splitlines()
    assert first.startswith("[image (image/png) of 25000")
    assert second.startswith("[structuredContent of 309010 bytes left out.")
    assert "structuredContent" not in result


@pytest.mark.requirement("TRS-02")
def test_very_many_parts_are_counted(toolbox: ToolboxClient) -> None:
    result = call_answered_with(toolbox, returning(content=[{"type": "text", "text": "x"}] * 250))

    assert (
        result["text"].splitlines()[-1] == "[50 more parts left out. Ask for less, or for the next page, to get them.]"
    )
    assert len(result["content"]) == MAX_BLOCKS + 1


def echo_of_the_secret(request: McpRequest) -> dict[str, Any]:
    """What a careless server could do with the header that it was sent."""
    header = request.headers["authorization"]
    encoded = base64.b64encode(f"user:{header}".encode()).decode()
    return {
        "content": [
            {"type": "text", "text": f"You sent {header}, that is {encoded}"},
            {"type": "resource", "resource": {"uri": f"file:///{header.split()[1]}", "text": header}},
        ],
        "structuredContent": {header: [header, {"inner": encoded}]},
    }


@BOTH_WAYS
@pytest.mark.requirement("TRS-03")
def test_a_secret_echoed_by_an_upstream_is_removed(toolbox: ToolboxClient, way: str) -> None:
    called = call_answered_with(toolbox, lambda request: result(request, echo_of_the_secret(request)), way)

    shown = json.dumps(called)
    assert called["text"].startswith("You sent [removed], that is ")
    assert SECRET not in shown
    assert SECRET[4:] not in shown
    for before in range(3):
        assert base64.b64encode(bytes(before) + SECRET.encode())[4:-4].decode() not in shown


@BOTH_WAYS
@pytest.mark.requirement("TRS-03")
@pytest.mark.parametrize("place", ["message", "data"])
def test_a_secret_in_an_upstreams_error_is_removed(toolbox: ToolboxClient, way: str, place: str) -> None:
    def refuse(request: McpRequest) -> McpResponse:
        header = request.headers["authorization"]
        text = f"Bad token {header} / {base64.b64encode(header.encode()).decode()}"
        return (
            error(request, -32603, text) if place == "message" else error(request, -32603, "No", data={"header": text})
        )

    kind, text = failure(call_answered_with(toolbox, refuse, way))

    assert kind == "upstream_refused"
    assert "Bad token [removed] / " in text
    assert SECRET not in text
    assert base64.b64encode(SECRET.encode())[4:-4].decode() not in text


@pytest.mark.requirement("TRS-03")
def test_a_secret_in_the_name_of_a_tool_or_its_description_is_removed(toolbox: ToolboxClient) -> None:
    def listed(request: McpRequest) -> McpResponse:
        header = request.headers["authorization"]
        schema = {"type": "object", "properties": {"text": {"type": "string", "description": header}}}
        return result(request, {"tools": [{"name": "echo", "description": f"With {header}", "inputSchema": schema}]})

    server = toolbox.server(PlainServer(tools_list=listed))

    for shown in (toolbox.list(toolbox.agent(server)), toolbox.tools_of(server)):
        assert SECRET not in json.dumps(shown)


@BOTH_WAYS
@pytest.mark.requirement("TRS-01")
def test_invisible_characters_do_not_reach_an_agent(toolbox: ToolboxClient, way: str) -> None:
    hidden = "a\x1b[31mred\x1b[0m\u202ereversed\u2066 \U000e0041tag\u200bend\x00"
    content = [{"type": "text", "text": hidden}]

    result = call_answered_with(toolbox, returning(content=content, structuredContent={hidden: hidden}), way)

    assert result["text"] == result["content"][0]["text"] == "aredreversed tagend"
    assert result["structuredContent"] == {"aredreversed tagend": "aredreversed tagend"}


@pytest.mark.requirement("TRS-01", "TRS-05")
def test_an_error_is_one_clean_line(toolbox: ToolboxClient) -> None:
    _, text = failure(
        call_answered_with(toolbox, lambda request: error(request, -32603, "one\r\n\x1b[2Jtwo\u202e" + "x" * 5000))
    )

    assert text.startswith("Error calling MCP server: one twox")
    assert len(text) == 1000
