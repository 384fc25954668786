import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit.redaction import NO_SECRETS, Redactor
from api.kit.transport_errors import Fault
from api.toolbox.failures import (
    failure_of,
    generic_description,
    not_answered,
    request_failed,
    server_not_found,
    server_of_another_workspace,
    upstream_error,
)
from api.toolbox.output.sanitize import MAX_ERROR, safe_line
from integrations import FailureCause, UpstreamTimeout


@pytest.mark.requirement("TRS-05")
def test_fixed_texts_are_exact() -> None:
    assert upstream_error("Internal error", "Location not found") == (
        "Error calling MCP server: Internal error - Location not found"
    )
    assert request_failed(500, "Internal Server Error") == (
        "Error calling MCP server: MCP server request failed: 500 Internal Server Error"
    )
    assert server_not_found("server_123") == "Error: MCP server server_123 not found"
    assert server_of_another_workspace("server_123") == (
        "Error: MCP server server_123 does not belong to this workspace"
    )
    assert generic_description("Weather") == (
        "Call the MCP server 'Weather'. Provide the MCP method name and optional parameters."
    )
    assert not_answered("no answer within 30 seconds") == "Error calling MCP server: no answer within 30 seconds"


UNANSWERED = FailureCause(Fault.READ_TIMEOUT.value)
TIMEOUTS = [
    (TimeoutError(), "no answer within 2 s. It is not known whether the call was carried out."),
    (UpstreamTimeout("late"), "no answer within 2 s. It is not known whether the call was carried out."),
    (UpstreamTimeout("late", sent=False, cause=UNANSWERED), "no answer within 2 s. Nothing was sent."),
    (
        UpstreamTimeout("late", sent=False, cause=FailureCause(Fault.CONNECT_TIMEOUT.value)),
        "no connection in time. Nothing was sent.",
    ),
]


@pytest.mark.parametrize(("error", "text"), TIMEOUTS)
def test_a_handshake_without_an_answer_is_no_missing_connection(
    error: TimeoutError | UpstreamTimeout, text: str
) -> None:
    assert failure_of(error, NO_SECRETS, 2).text == f"Error calling MCP server: {text}"


@pytest.mark.parametrize("data", [None, "", [], {}])
def test_an_error_without_data_is_its_message(data: object) -> None:
    assert upstream_error("Internal error", data) == "Error calling MCP server: Internal error"


@pytest.mark.parametrize(("data", "shown"), [({"a": ["ä"]}, '{"a": ["ä"]}'), (0, "0"), (False, "false")])
def test_data_of_any_kind_is_shown(data: object, shown: str) -> None:
    assert upstream_error("Bad", data) == f"Error calling MCP server: Bad - {shown}"


def test_endless_data_is_left_out() -> None:
    data: list[object] = []
    for _ in range(100_000):
        data = [data]

    assert upstream_error("Bad", data) == "Error calling MCP server: Bad - (too large to be shown)"


@pytest.mark.parametrize(("status", "shown"), [(500, "500 Internal Server Error"), (599, "599")])
def test_a_status_without_a_reason_gets_the_usual_one(status: int, shown: str) -> None:
    assert request_failed(status) == f"Error calling MCP server: MCP server request failed: {shown}"


@pytest.mark.requirement("TRS-05")
@given(st.text(max_size=3000), st.text(max_size=3000))
def test_an_error_is_one_capped_line(message: str, data: str) -> None:
    text = upstream_error(message, data)

    assert len(text.splitlines()) == 1
    assert len(text) <= MAX_ERROR


@pytest.mark.requirement("TRS-03", "TRS-05")
@pytest.mark.parametrize(
    "echo", ["my-secret-token", "my-sec\u200bret-token", "my-\x1b[31msecret-token", "bXktc2VjcmV0LXRva2Vu"]
)
def test_an_error_contains_no_secret_in_any_encoding(echo: str) -> None:
    text = upstream_error(f"bad token {echo}", {"seen": echo}, Redactor(["my-secret-token"]))

    assert text.startswith("Error calling MCP server: bad token [removed] - ")
    assert "secret" not in text
    assert "bXktc2Vj" not in text


@pytest.mark.requirement("TRS-03")
def test_a_secret_is_removed_before_a_text_is_cut() -> None:
    assert "my-sec" not in safe_line("x" * 90 + "my-secret-token", Redactor(["my-secret-token"]), limit=100)


@pytest.mark.requirement("TRS-03")
def test_a_multi_line_secret_is_removed_before_lines_are_joined() -> None:
    assert safe_line("key: BEGIN\r\nabcdef", Redactor(["BEGIN\r\nabcdef"])) == "key: [removed]"
