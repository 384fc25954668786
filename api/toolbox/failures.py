"""In which ways can a call of a tool fail, and which of them is this?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from api.toolbox.output.redaction import Redactor
from api.toolbox.texts import not_answered, request_failed, safe_line, upstream_error
from integrations import RpcErrorResponse, StatusRefused, Unreachable, UpstreamError, UpstreamTimeout

NO_CREDENTIALS = "This server has no credentials for where it points now. Enter them again in its `config`."
NOT_CONSENTED = "This server is not connected. Who manages the workspace has to connect it (`GET …/oauth/authorize`)."
ENDED = "The connection of this server has ended. Who manages the workspace has to connect it again."
LACKS = "The connection of this server lacks rights that are needed here ({}). Somebody has to connect it again."
NOT_NOW = "The connection stands: try again."
CLIENT_LACKS = "The client of this server has no rights that are needed here ({}). Add them to `scope` in its `config`."
MAYBE_DONE = "It is not known whether the call was carried out."
LONGEST_WAIT = 3600.0
_SECONDS = re.compile(r"[0-9]{1,9}")


class FailureKind(StrEnum):
    """All there are: who handles each of them has handled everything."""

    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_CONNECTED = "not_connected"
    RECONNECT_REQUIRED = "reconnect_required"
    RATE_LIMITED = "rate_limited"
    UPSTREAM_UNAVAILABLE = "upstream_unavailable"
    UPSTREAM_REFUSED = "upstream_refused"
    TIMEOUT = "timeout"


NEVER_DONE = frozenset(
    {
        FailureKind.INVALID_ARGUMENTS,
        FailureKind.NOT_CONNECTED,
        FailureKind.RECONNECT_REQUIRED,
        FailureKind.RATE_LIMITED,
    }
)
"""Where nothing was begun before."""


@dataclass(frozen=True, slots=True)
class Failure:
    kind: FailureKind
    text: str
    """What the agent reads: clean, capped, without secrets."""
    retry_after: float | None = None
    """Seconds after which it may be worth another try."""

    is_down: bool = False
    """It says that the upstream is down, and not what it thinks of the request."""

    is_begun: bool = False
    """A part was done before it failed."""

    @property
    def is_never_done(self) -> bool:
        """The same call may be made again: nobody has carried out any of it."""
        return self.kind in NEVER_DONE and not self.is_begun

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", FailureKind(self.kind))


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
