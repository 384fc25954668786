"""In which ways can a call of a tool fail, and which of them is this?"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from http import HTTPStatus

from api.toolbox.output.json_size import JsonSize, measure
from api.toolbox.output.redaction import NO_SECRETS, Redactor
from api.toolbox.output.sanitize import clean, one_line, safe_line
from api.toolbox.output.tool_result import Failure, FailureKind
from integrations import RpcErrorResponse, StatusRefused, Unreachable, UpstreamError, UpstreamTimeout

NO_CREDENTIALS = "This server has no credentials for where it points now. Enter them again in its `config`."
NOT_CONSENTED = "This server is not connected. Who manages the workspace has to connect it (`GET …/oauth/authorize`)."
ENDED = "The connection of this server has ended. Who manages the workspace has to connect it again."
LACKS = "The connection of this server lacks rights that are needed here ({}). Somebody has to connect it again."
NOT_NOW = "The connection stands: try again."
CLIENT_LACKS = "The client of this server has no rights that are needed here ({}). Add them to `scope` in its `config`."
MAYBE_DONE = "It is not known whether the call was carried out."
LONGEST_WAIT = 3600.0
_DATA = JsonSize(32, 1000)
_FAILED = "Error calling MCP server: "
_SECONDS = re.compile(r"[0-9]{1,9}")


def invalid_arguments(tool_name: str, problems: list[str]) -> Failure:
    told = " ".join(problems)
    return Failure(
        FailureKind.INVALID_ARGUMENTS, safe_line(f"Error: the arguments of {tool_name} do not fit. {told}", limit=2000)
    )


class CredentialsUnavailable(Exception):
    """There are no credentials that could be sent, so nothing was."""

    def __init__(self, kind: FailureKind, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.failure = Failure(kind, f"Error: {text}", retry_after)
        self.text = text


def no_credentials() -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.NOT_CONNECTED, NO_CREDENTIALS)


def not_consented() -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.NOT_CONNECTED, NOT_CONSENTED)


def ended() -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.RECONNECT_REQUIRED, ENDED)


def lacking(scopes: Sequence[str], text: str = LACKS) -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.RECONNECT_REQUIRED, text.format(safe_line(", ".join(scopes), limit=300)))


def client_refused(text: str, retry_after: float | None) -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.NOT_CONNECTED, text, retry_after)


def not_now(text: str, retry_after: float | None) -> CredentialsUnavailable:
    return CredentialsUnavailable(FailureKind.UPSTREAM_UNAVAILABLE, f"{text} {NOT_NOW}", retry_after)


def timed_out(seconds: float, *, sent: bool = True) -> Failure:
    return Failure(FailureKind.TIMEOUT, not_answered(f"no answer within {seconds:g} s.{_maybe_done(sent)}"))


def failure_of(error: UpstreamError, redact: Redactor, seconds: float) -> Failure:
    match error:
        case RpcErrorResponse(message=message, data=data):
            return Failure(FailureKind.UPSTREAM_REFUSED, upstream_error(message, data, redact))
        case StatusRefused():
            return _refused(error, redact)
        case UpstreamTimeout(sent=sent):
            return timed_out(seconds, sent=sent)
        case Unreachable(sent=sent):
            told = not_answered(error.text + _maybe_done(sent), redact)
            return Failure(FailureKind.UPSTREAM_UNAVAILABLE, told)
        case _:
            return Failure(FailureKind.UPSTREAM_UNAVAILABLE, not_answered(error.text, redact))


def is_down(error: Exception | None) -> bool:
    """Whether it says that the server is down, and not what it thinks of the request."""
    match error:
        case StatusRefused(status=status):
            return status >= HTTPStatus.INTERNAL_SERVER_ERROR
        case _:
            return isinstance(error, Unreachable | UpstreamTimeout | TimeoutError)


def _refused(error: StatusRefused, redact: Redactor) -> Failure:
    text = request_failed(error.status, error.reason, redact)
    if error.status == HTTPStatus.TOO_MANY_REQUESTS:
        return Failure(FailureKind.RATE_LIMITED, text, _seconds(error.headers.get("retry-after")))
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Failure(FailureKind.UPSTREAM_UNAVAILABLE, text, _seconds(error.headers.get("retry-after")))
    return Failure(FailureKind.UPSTREAM_REFUSED, text)


def _seconds(text: str | None) -> float | None:
    """Where a date is given instead, nothing is said: the clocks may differ."""
    return min(float(text), LONGEST_WAIT) if text and _SECONDS.fullmatch(text) else None


def _maybe_done(sent: bool) -> str:
    return f" {MAYBE_DONE}" if sent else ""


def generic_description(server_name: str) -> str:
    return f"Call the MCP server '{one_line(server_name, 100)}'. Provide the MCP method name and optional parameters."


def upstream_error(message: str, data: object = None, redact: Redactor = NO_SECRETS) -> str:
    """A JSON-RPC error: its message and, where there is any, its data."""
    told = message if _is_nothing(data) else f"{message} - {_plain(data)}"
    return safe_line(_FAILED + told, redact)


def request_failed(status: int, reason: str = "", redact: Redactor = NO_SECRETS) -> str:
    """An answer that is no success. HTTP/2 sends no reason, so the usual one stands in."""
    told = f"{status} {reason or _usual_reason(status)}".rstrip()
    return safe_line(f"{_FAILED}MCP server request failed: {told}", redact)


def not_answered(why: str, redact: Redactor = NO_SECRETS) -> str:
    """No answer at all, or none that is MCP."""
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
        return "(too much to be shown)"
    return json.dumps(_cleaned(data), ensure_ascii=False, default=str)


def _cleaned(data: object) -> object:
    """Cleaned before it is JSON, in which a control is an escape that hides it, and a secret around it."""
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, list):
        return [_cleaned(each) for each in data]
    return {clean(str(name)): _cleaned(each) for name, each in data.items()} if isinstance(data, dict) else data


def _usual_reason(status: int) -> str:
    return next((known.phrase for known in HTTPStatus if known == status), "")
