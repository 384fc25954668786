"""The ways in which a call or a list can fail, and their texts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus

from api.kit.redaction import NO_SECRETS, Redactor
from api.kit.transport_errors import Fault
from api.servers.server import Server
from api.toolbox.calling.circuit_breakers import CircuitOpen
from api.toolbox.failure_causes import CIRCUIT_OPEN, cause_of
from api.toolbox.output.json_size import JsonSize, measure
from api.toolbox.output.sanitize import clean, one_line, safe_line
from api.toolbox.output.tool_result import Failure, FailureKind
from api.toolbox.unavailable_reason import UnavailableReason
from integrations import (
    ArgumentRefused,
    FailureCause,
    RpcErrorResponse,
    StatusRefused,
    Unreachable,
    UnreadableResponse,
    UpstreamError,
    UpstreamTimeout,
)

NO_CREDENTIALS = "{} has no credentials for its current URL. Enter them again in its `config`."
NOT_CONSENTED = "{} is not connected. A workspace manager must connect it first (`GET …/oauth/authorize`)."
DISCONNECTED = "{} is not connected. A workspace manager must connect it (`POST …/oauth/connect`)."
ENDED = "The connection of {} has ended. A workspace manager must connect it again."
LACKS = "The connection of this server is missing required scopes: {}. Reconnect the server to grant them."
NOT_NOW = "The connection is still valid: try again."
CLIENT_LACKS = "The client of this server is missing required scopes: {}. Add them to `scope` in its `config`."
DISABLED = "The server is disabled. Enable it to use its tools."
NOT_CONNECTED_SERVICE = "Connect this service first."
NO_TOOLS = "This version of Plugboard has no tools for this service."
MAYBE_DONE = "It is not known whether the call was carried out."
LONGEST_WAIT = 3600.0
_DATA = JsonSize(32, 1000)
_FAILED = "Error calling MCP server: "
_SECONDS = re.compile(r"[0-9]{1,9}")


def invalid_arguments(tool_name: str, problems: list[str]) -> Failure:
    text = safe_line(f"Error: the arguments of {tool_name} do not fit. {' '.join(problems)}", limit=2000)
    return Failure(FailureKind.INVALID_ARGUMENTS, text)


_NOT_CONNECTED_REASONS = {
    FailureKind.NOT_CONNECTED: UnavailableReason.NOT_CONNECTED,
    FailureKind.RECONNECT_REQUIRED: UnavailableReason.RECONNECT_REQUIRED,
}


class CredentialsUnavailable(Exception):
    """There are no credentials to send, so no request was made."""

    def __init__(self, kind: FailureKind, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.failure = Failure(kind, f"Error: {text}", retry_after)
        self.text = text


def no_credentials(server_name: str) -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.NOT_CONNECTED, NO_CREDENTIALS.format(_the_server(server_name, "The")))


def not_connected(server: Server) -> CredentialsUnavailable:
    text = DISCONNECTED if server.connects_by_client else NOT_CONSENTED
    return CredentialsUnavailable(FailureKind.NOT_CONNECTED, text.format(_the_server(server.name, "The")))


def ended(server_name: str) -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.RECONNECT_REQUIRED, ENDED.format(_the_server(server_name)))


def missing_scopes(scopes: Sequence[str], text: str = LACKS) -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.RECONNECT_REQUIRED, text.format(safe_line(", ".join(scopes), limit=300)))


def client_refused(text: str, retry_after: float | None) -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.NOT_CONNECTED, text, retry_after)


def not_now(text: str, retry_after: float | None) -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.UPSTREAM_UNAVAILABLE, f"{text} {NOT_NOW}", retry_after)


Problem = UpstreamError | TimeoutError | CredentialsUnavailable


class ToolsUnavailable(Exception):
    """A server's tools are not available: a word for programs, a sentence for people."""

    def __init__(
        self,
        reason: UnavailableReason,
        detail: str,
        *,
        is_down: bool = False,
        is_answer: bool = False,
        text: str | None = None,
        cause: FailureCause | None = None,
    ) -> None:
        """`text`: for agents, if it is another than `detail`, which explains the cause to who manages the server."""
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.is_down = is_down
        self.is_answer = is_answer
        self.text = text or detail
        self.cause = cause


def connection_ended(server_name: str) -> ToolsUnavailable:
    return ToolsUnavailable(UnavailableReason.RECONNECT_REQUIRED, ENDED.format(_the_server(server_name)))


def _the_server(name: str, article: str = "the") -> str:
    return f"{article} server '{one_line(name, 100)}'"


def circuit_open(held: CircuitOpen) -> Failure:
    return Failure(FailureKind.UPSTREAM_UNAVAILABLE, left_alone(held), held.retry_after, cause=CIRCUIT_OPEN)


def left_alone(held: CircuitOpen) -> str:
    """With the last failure before it."""
    wait = f"After several failures this server is left alone for {held.retry_after} s. Nothing was sent."
    return f"{held.text} {wait}"


def limit_reached(text: str, retry_after: float) -> Failure:
    return Failure(FailureKind.RATE_LIMITED, f"Error: {text}", retry_after)


def without_uncertainty(failure: Failure) -> str:
    """The text for later callers, whom the outcome of this call does not concern, and for lists."""
    return failure.text.removesuffix(f" {MAYBE_DONE}")


def failure_of(error: Problem, redact: Redactor, seconds: float) -> Failure:
    if isinstance(error, CredentialsUnavailable):
        return replace(error.failure, cause=cause_of(error, error.failure.kind))
    if isinstance(error, ArgumentRefused):
        return Failure(FailureKind.INVALID_ARGUMENTS, safe_line(f"Error: {error.text}", redact))
    kind, text, retry_after = _kind_and_text(error, redact, seconds)
    is_down = _is_down(error)
    return Failure(kind, text, retry_after, is_down=is_down, is_answer=not is_down, cause=cause_of(error))


def unavailable(error: Problem, redact: Redactor, seconds: float) -> ToolsUnavailable:
    if isinstance(error, CredentialsUnavailable):
        cause = cause_of(error, error.failure.kind)
        reason = _NOT_CONNECTED_REASONS.get(error.failure.kind, UnavailableReason.UNREACHABLE)
        return ToolsUnavailable(reason, error.text, cause=cause)
    cause = cause_of(error)
    if isinstance(error, TimeoutError | UpstreamTimeout):
        text = "no connection in time." if _is_connecting(error) else "no answer in time."
        detail = not_answered(f"{text} {cause.explanation}")
        return ToolsUnavailable(UnavailableReason.TIMEOUT, detail, is_down=True, text=not_answered(text), cause=cause)
    failure = failure_of(error, redact, seconds)
    text = without_uncertainty(failure)
    detail = not_answered(cause.explanation) if isinstance(error, Unreachable) and error.cause else text
    return ToolsUnavailable(
        _reason_of(error), detail, is_down=failure.is_down, is_answer=failure.is_answer, text=text, cause=cause
    )


def service_unavailable(error: Problem, redact: Redactor, seconds: float, title: str) -> ToolsUnavailable:
    """The error of a service, whose text names the service."""
    cause = cause_of(error)
    match error:
        case StatusRefused(text=text):
            return ToolsUnavailable(_reason_of(error), safe_line(f"{title} answered {text}.", redact), cause=cause)
        case Unreachable():
            text = f"{title} could not be reached. {cause.explanation}".rstrip()
            return ToolsUnavailable(UnavailableReason.UNREACHABLE, text, cause=cause)
        case UpstreamTimeout() | TimeoutError():
            text = f"{title} did not answer within {seconds} s. {cause.explanation}".rstrip()
            return ToolsUnavailable(UnavailableReason.TIMEOUT, text, cause=cause)
        case _:
            return unavailable(error, redact, seconds)


def _kind_and_text(
    error: UpstreamError | TimeoutError, redact: Redactor, seconds: float
) -> tuple[FailureKind, str, float | None]:
    match error:
        case RpcErrorResponse(message=message, data=data):
            return FailureKind.UPSTREAM_REFUSED, upstream_error(message, data, redact), None
        case StatusRefused():
            return _refusal(error, redact)
        case TimeoutError() | UpstreamTimeout(sent=True):
            return FailureKind.TIMEOUT, not_answered(f"no answer within {seconds:g} s. {MAYBE_DONE}"), None
        case UpstreamTimeout():  # a handshake before the call may have had no answer
            reason = "no connection in time." if _is_connecting(error) else f"no answer within {seconds:g} s."
            return FailureKind.TIMEOUT, not_answered(f"{reason} Nothing was sent."), None
        case Unreachable(sent=sent) | UnreadableResponse(sent=sent):
            text = f"{error.text} {MAYBE_DONE}" if sent else error.text
            return FailureKind.UPSTREAM_UNAVAILABLE, not_answered(text, redact), None
        case _:
            return FailureKind.UPSTREAM_UNAVAILABLE, not_answered(error.text, redact), None


def _is_connecting(error: UpstreamTimeout | TimeoutError) -> bool:
    is_answer_missing = cause_of(error).word == Fault.READ_TIMEOUT
    return isinstance(error, UpstreamTimeout) and not error.sent and not is_answer_missing


def _is_down(error: UpstreamError | TimeoutError) -> bool:
    """Whether the error shows that the server is down, rather than rejects the request."""
    match error:
        case StatusRefused(status=status):
            return status >= HTTPStatus.INTERNAL_SERVER_ERROR
        case _:
            return isinstance(error, Unreachable | UpstreamTimeout | TimeoutError)


def _reason_of(error: UpstreamError) -> UnavailableReason:
    match error:
        case StatusRefused(status=HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN):
            return UnavailableReason.UNAUTHORIZED
        case _ if _is_down(error):
            return UnavailableReason.UNREACHABLE
        case _:
            return UnavailableReason.INVALID


def _refusal(error: StatusRefused, redact: Redactor) -> tuple[FailureKind, str, float | None]:
    text = request_failed(error.status, error.reason, redact)
    if error.status == HTTPStatus.TOO_MANY_REQUESTS:
        return FailureKind.RATE_LIMITED, text, _seconds(error.headers.get("retry-after"))
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return FailureKind.UPSTREAM_UNAVAILABLE, text, _seconds(error.headers.get("retry-after"))
    return FailureKind.UPSTREAM_REFUSED, text, None


def _seconds(text: str | None) -> float | None:
    """The seconds of `Retry-After`; None for a date, since clocks may differ."""
    return min(float(text), LONGEST_WAIT) if text and _SECONDS.fullmatch(text) else None


def generic_description(server_name: str) -> str:
    return f"Call the MCP server '{one_line(server_name, 100)}'. Provide the MCP method name and optional parameters."


def upstream_error(message: str, data: object = None, redact: Redactor = NO_SECRETS) -> str:
    """A JSON-RPC error: its message and its data, if any."""
    text = message if _is_nothing(data) else f"{message} - {_plain(data)}"
    return safe_line(_FAILED + text, redact)


def request_failed(status: int, reason: str = "", redact: Redactor = NO_SECRETS) -> str:
    """A response that is not a success. HTTP/2 has no reason phrase, so the usual one is used."""
    text = f"{status} {reason or _usual_reason(status)}".rstrip()
    return safe_line(f"{_FAILED}MCP server request failed: {text}", redact)


def not_answered(why: str, redact: Redactor = NO_SECRETS) -> str:
    """No response, or one that is not MCP."""
    return safe_line(_FAILED + why, redact)


def server_not_found(server_id: str) -> str:
    return safe_line(f"Error: MCP server {server_id} not found")


def server_of_another_workspace(server_id: str) -> str:
    return safe_line(f"Error: MCP server {server_id} does not belong to this workspace")


def _is_nothing(data: object) -> bool:
    return data is None or data in ("", [], {})


def _plain(data: object) -> str:
    if isinstance(data, str):
        return data
    if measure(data, _DATA) is None:
        return "(too large to be shown)"
    return json.dumps(_clean_data(data), ensure_ascii=False, default=str)


def _clean_data(data: object) -> object:
    """Cleaned before encoding: JSON escapes controls, which would hide them and any secret around them."""
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, list):
        return [_clean_data(item) for item in data]
    return {clean(str(name)): _clean_data(value) for name, value in data.items()} if isinstance(data, dict) else data


def _usual_reason(status: int) -> str:
    return next((candidate.phrase for candidate in HTTPStatus if candidate == status), "")
