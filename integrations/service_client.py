"""A client of a vendor's API: it waits for rate limits, explains errors and repeats no write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, Literal, Protocol

from integrations import request_encoding
from integrations.errors import StatusRefused, Unreachable, UnreadableResponse, UpstreamTimeout
from integrations.http_port import Http

MAX_TRIES = 3
PAUSES = (0.5, 1.5)
DOWN = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
MARGIN_SECONDS = 2.0
"""The time left for the request itself after a pause."""
LONGEST_WAIT = 3600.0
"""The upper bound of a pause that a vendor asks for."""
UNKNOWN_WAIT_SECONDS = 60.0
"""The pause to suggest if the vendor names none and a short one was not enough."""
MAYBE_DONE = "The change may have been made nevertheless: check before you repeat it."

FailedKind = Literal[
    "invalid_arguments",
    "rate_limited",
    "reconnect_required",
    "upstream_refused",
    "upstream_unavailable",
    "timeout",
]
Method = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]
Pause = Callable[[float], Awaitable[None]]


class ToolFailed(Exception):
    """A call has failed. The text tells a model what happened and what to do."""

    def __init__(
        self, kind: FailedKind, text: str, retry_after: float | None = None, *, is_down: bool | None = None
    ) -> None:
        """`is_down`: whether other calls would fail too, so that they should wait for a while."""
        super().__init__(text)
        self.is_down = kind in ("upstream_unavailable", "timeout") if is_down is None else is_down
        self.kind: FailedKind = kind
        self.text = text
        self.retry_after = retry_after

    def with_text(self, text: str) -> ToolFailed:
        """The same failure with another text."""
        return ToolFailed(self.kind, text, self.retry_after, is_down=self.is_down)


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    reason: str
    headers: Mapping[str, str]
    body: Any
    """The decoded JSON; None if the body is not JSON."""


@dataclass(frozen=True, slots=True)
class CredentialRejected:
    """The credential is invalid; the request had no effect."""

    text: str | None = None
    """A text that explains more than the rejection itself."""


@dataclass(frozen=True, slots=True)
class RateLimited:
    """Too many requests; this one had no effect. `seconds` is None if the vendor names no pause."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ServerTrouble:
    """A failure of the vendor. `not_applied`: the request certainly had no effect, so that a write can be repeated."""

    text: str
    not_applied: bool = False
    if_maybe_applied: str | None = None
    """Advice for a write that may have been applied."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The vendor refused the request; the text tells a model what to do."""

    text: str
    kind: FailedKind = "upstream_refused"


Verdict = CredentialRejected | RateLimited | ServerTrouble | Rejected | None
"""None for a success."""


class ServiceHttp(Http, Protocol):
    """Requests with a server's credential, which can be renewed."""

    def current_credential(self) -> object:
        """An opaque value that identifies the credential in use."""
        ...

    async def renew(self, rejected: object) -> bool:
        """Replace a rejected credential; whether there is another one now."""
        ...

    def seconds_left(self) -> float:
        """The seconds until the call's deadline."""
        ...


class ServiceClient:
    """A vendor's API during one tool call. A subclass defines the headers and the meaning of responses."""

    headers: ClassVar[Mapping[str, str]] = {}
    has_written = False
    """Whether this call has changed something, so that repeating it would change it again."""

    def __init__(
        self, http: ServiceHttp, base_url: str, pause: Pause = asyncio.sleep, *, title: str = "The service"
    ) -> None:
        self._http = http
        self._pause = pause
        self.base_url = base_url
        self.title = title

    def verdict(self, reply: Reply) -> Verdict:
        raise NotImplementedError

    def unavailable_text(self, reply: Reply) -> str:
        status = f"{reply.status} {reply.reason}".rstrip()
        return f"{self.title} is not available ({status})."

    def unexpected_response_text(self, reply: Reply) -> str:
        status = f"{reply.status} {reply.reason}".rstrip()
        return f"{self.title} did not answer as its API does ({status})."

    async def get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        return await self.request("GET", path, query=query)

    async def request(
        self,
        method: Method,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        form: Mapping[str, object] | None = None,
        reads: bool | None = None,
        headers: Mapping[str, str] | None = None,
        if_lost: str = MAYBE_DONE,
    ) -> Any:
        """`reads`: repeatable, by default only for GET. `if_lost`: advice for a write whose response is lost."""
        may_repeat = method == "GET" if reads is None else reads
        lost_text = None if may_repeat else if_lost
        url, content, content_headers = self._encode(path, query, body, form)
        all_headers = {"Accept": "application/json", **self.headers, **content_headers, **(headers or {})}
        renewed = False
        for attempt in range(MAX_TRIES):
            credential = self._http.current_credential()
            reply = await self._send(method, url, all_headers, content, lost_text, attempt)
            if reply is None:
                continue
            match self.verdict(reply):
                case None:
                    self.has_written = self.has_written or not may_repeat
                    return reply.body
                case CredentialRejected(text):
                    if renewed or not await self._http.renew(credential):
                        raise _rejection(text, reply)
                    renewed = True
                case RateLimited(seconds):
                    await self._wait_for_turn(seconds, attempt)
                case ServerTrouble() as trouble:
                    await self._wait_out(reply, trouble, lost_text, attempt)
                case Rejected(text, kind):
                    raise ToolFailed(kind, text)
        raise ToolFailed("upstream_unavailable", f"{self.title} did not answer as it should. Try again later.")

    def _encode(
        self, path: str, query: Mapping[str, object] | None, body: object, form: Mapping[str, object] | None
    ) -> tuple[str, bytes, Mapping[str, str]]:
        try:
            content, headers = request_encoding.encode_body(body, form)
            return request_encoding.encode_url(self.base_url, path, query), content, headers
        except request_encoding.UnencodableRequest as error:
            raise ToolFailed("invalid_arguments", str(error)) from error

    async def _send(
        self, method: Method, url: str, headers: Mapping[str, str], content: bytes, if_lost: str | None, attempt: int
    ) -> Reply | None:
        """Send once; None if the request should be repeated. `if_lost` is None if repeating is harmless."""
        try:
            async with self._http.request(method, url, headers, content) as reply:
                return Reply(
                    reply.status, reply.reason, reply.headers, request_encoding.decode_json(await reply.read())
                )
        except UpstreamTimeout as error:
            advice = if_lost if if_lost and error.sent else "Try again later, or ask for less."
            raise ToolFailed("timeout", f"{self.title} did not answer in time. {advice}") from error
        except UnreadableResponse as error:  # usually too large: a retry would fail too
            if if_lost is None:
                error.sent = False  # a read has no effect, so it may be repeated
                raise
            raise ToolFailed("upstream_unavailable", f"{self.title}'s answer could not be read. {if_lost}") from error
        except Unreachable as error:
            if if_lost and error.sent:
                raise ToolFailed(
                    "upstream_unavailable", f"The connection to {self.title} broke off. {if_lost}"
                ) from error
            await self._pause_before(attempt, f"{self.title} could not be reached.")
            return None

    async def _wait_for_turn(self, seconds: float | None, attempt: int) -> None:
        """Pause as long as the vendor asks, if the deadline allows it."""
        wait = PAUSES[min(attempt, len(PAUSES) - 1)] if seconds is None else seconds
        if attempt + 1 < MAX_TRIES and wait + MARGIN_SECONDS < self._http.seconds_left():
            await self._pause(wait)
            return
        wait = min(max(UNKNOWN_WAIT_SECONDS if seconds is None else seconds, 1.0), LONGEST_WAIT)
        text = f"{self.title} takes no more requests for now. Try again in {wait:.0f} s."
        raise ToolFailed("rate_limited", text, wait)

    async def _wait_out(self, reply: Reply, trouble: ServerTrouble, if_lost: str | None, attempt: int) -> None:
        is_down = reply.status in DOWN
        if if_lost and not trouble.not_applied:
            text = f"{trouble.text} {trouble.if_maybe_applied or if_lost}"
            raise ToolFailed("upstream_unavailable", text, is_down=is_down)
        await self._pause_before(attempt, trouble.text, is_down=is_down)

    async def _pause_before(self, attempt: int, problem: str, *, is_down: bool = True) -> None:
        """Pause before the next attempt, or raise if there is none."""
        wait = PAUSES[min(attempt, len(PAUSES) - 1)]
        if attempt + 1 < MAX_TRIES and wait + MARGIN_SECONDS < self._http.seconds_left():
            await self._pause(wait)
            return
        raise ToolFailed("upstream_unavailable", f"{problem} Try again later.", is_down=is_down)


@contextmanager
def too_large_hint(advice: str) -> Iterator[None]:
    """Advise the model if a response exceeds the size limit."""
    try:
        yield
    except UnreadableResponse as error:
        raise ToolFailed("upstream_refused", f"The answer is larger than the limit. {advice}") from error


def _rejection(text: str | None, reply: Reply) -> Exception:
    return ToolFailed("reconnect_required", text) if text else StatusRefused(401, "Unauthorized", dict(reply.headers))
