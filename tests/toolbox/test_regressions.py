"""Faults that were found once and must not return."""

import threading
import time
from typing import Any

import pytest

from api.kit.redaction import REMOVED, Redactor
from api.main.settings import Settings
from api.toolbox.json_schema.validation import Validator
from demo.mcp_servers import McpResponse, PlainServer, SessionServer, error, event, result, stream
from tests.fakes.stuck_server import StuckServer
from tests.toolbox.conftest import AT_HOME
from tests.toolbox.toolbox_client import ToolboxClient, call_answered_with, failure

A_MOMENT = 3.0  # seconds; what is asked here took minutes


@pytest.mark.requirement("TRS-03")
def test_many_long_secrets_with_a_common_prefix_are_removed_quickly() -> None:
    short = "a" * 300 + "b"
    scrubbed = Redactor({short, *("a" * (8000 + number) + "/%b" for number in range(19))})
    began = time.monotonic()

    assert scrubbed("a" * 1_000_000 + short).endswith(REMOVED)
    assert time.monotonic() - began < A_MOMENT


def test_thousands_of_values_are_checked_against_thousands_quickly() -> None:
    choices = {"enum": [f"value-{number}" for number in range(2000)]}
    validator = Validator.of({"properties": {"many": {"type": "array", "items": choices}}})
    began = time.monotonic()

    (text,) = validator.check({"many": [f"other-{number}" for number in range(900)]})
    assert text.startswith("`many[0]` must be one of")
    assert time.monotonic() - began < A_MOMENT


@pytest.mark.requirement("TRS-03")
def test_a_call_that_ends_after_its_server_was_changed_shows_no_credential(toolbox: ToolboxClient) -> None:
    stuck = StuckServer("tools/call")
    stuck.handlers["tools/call"] = lambda request: error(request, -32000, f"refused {request.headers['authorization']}")
    server = toolbox.server(stuck)
    agent = toolbox.agent(server)
    toolbox.list(agent)
    notes: list[dict[str, Any]] = []
    caller = threading.Thread(target=lambda: notes.append(toolbox.call(agent, "mcp_weather_echo")))
    caller.start()
    stuck.wait_until(waiting=1)

    toolbox.change(server, name="Renamed")
    toolbox.list(agent)
    stuck.release()
    caller.join(20)

    assert failure(notes[0]) == ("upstream_refused", f"Error calling MCP server: refused {REMOVED}")


@pytest.mark.requirement("TRS-03")
def test_a_secret_of_digits_is_not_returned_as_a_number(toolbox: ToolboxClient) -> None:
    digits = "483920174455"
    fake = PlainServer(
        tools_call=lambda request: result(request, {"content": [], "structuredContent": {"n": int(digits)}})
    )
    agent = toolbox.agent(toolbox.server(fake, authType="header", config={"headerValue": digits}))

    assert toolbox.call(agent, "mcp_weather_echo")["structuredContent"] == {"n": REMOVED}


@pytest.mark.requirement("REL-14")
def test_a_call_with_a_truncated_response_keeps_its_idempotency_key(toolbox: ToolboxClient) -> None:
    fake = SessionServer(tools_call=lambda _: stream(event("", id="e1", retry=0)), GET=lambda _: McpResponse(429))
    agent = toolbox.agent(toolbox.server(fake))
    path = f"{toolbox.workspace.agents}/{agent}/tool-calls"
    body, headers = {"toolName": "mcp_weather_echo", "args": {}}, {"Idempotency-Key": "once"}

    first, second = (toolbox.admin.post(path, json=body, headers=headers) for _ in range(2))

    kind, text = failure(first.json())
    assert kind == "upstream_unavailable"
    assert text.endswith("It is not known whether the call was carried out.")
    assert second.json() == first.json()
    assert len(fake.requests_for("tools/call")) == 1


def test_a_stream_that_ends_before_the_response_leaves_the_outcome_unknown(toolbox: ToolboxClient) -> None:
    kind, text = failure(call_answered_with(toolbox, lambda _: stream(b": nothing\n\n")))

    assert kind == "upstream_unavailable"
    assert text.endswith("The stream ended before the answer. It is not known whether the call was carried out.")


def test_the_audit_trail_names_the_tool_that_the_generic_tool_called(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer())
    agent = toolbox.agent(server)

    toolbox.call(agent, f"mcp_{server['id']}", {"method": "tools/call", "params": {"name": "echo", "arguments": {}}})

    for _ in range(200):
        records = toolbox.admin.get(f"{toolbox.workspace.audit}?kind=calls").json()
        if records:
            break
        threading.Event().wait(0.02)
    assert [record["tool"] for record in records] == ["tools/call echo"]


@pytest.mark.requirement("EGR-15")
def test_no_address_of_this_machine_reaches_the_ports_of_the_service() -> None:
    egress = Settings(host="0.0.0.0", port=8400, metrics_port=9400, workers=2, egress=AT_HOME).reachable

    assert egress.self_ports == {8400, 9400}
