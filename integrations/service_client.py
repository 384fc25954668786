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
"""What is left for the request itself, when its turn has come."""
LONGEST_WAIT = 3600.0
"""Whatever a vendor says."""
UNKNOWN_WAIT_SECONDS = 60.0
"""Where a vendor wants a pause and does not say how long, and a short one was not enough."""
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
    """A call has come to nothing. The text is for a model: what happened, and what to do now."""

    def __init__(
        self, kind: FailedKind, text: str, retry_after: float | None = None, *, is_down: bool | None = None
    ) -> None:
        """`is_down`: whether others need not try for a while. Trouble with one thing is none with all the others."""
        super().__init__(text)
        self.is_down = kind in ("upstream_unavailable", "timeout") if is_down is None else is_down
        self.kind: FailedKind = kind
        self.text = text
        self.retry_after = retry_after

    def with_text(self, text: str) -> ToolFailed:
        """The same, told in other words."""
        return ToolFailed(self.kind, text, self.retry_after, is_down=self.is_down)


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    reason: str
    headers: Mapping[str, str]
    body: Any
    """What its JSON says; None where there is none."""


@dataclass(frozen=True, slots=True)
class CredentialRejected:
    """The credential is no good any more, and nothing was done."""

    text: str | None = None
    """What is told of it, where there is more to say than that."""


@dataclass(frozen=True, slots=True)
class RateLimited:
    """Come back later; nothing was done. None where nobody said when."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ServerTrouble:
    """On the vendor's side. `undone`: surely nothing was done, so that even a write can be sent again."""

    text: str
    not_applied: bool = False
    if_maybe_applied: str | None = None
    """What is known of a write that may have been done."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The vendor understood and said no: what to do about it, for a model."""

    text: str
    kind: FailedKind = "upstream_refused"


Verdict = CredentialRejected | RateLimited | ServerTrouble | Rejected | None
"""None: it is what was asked for."""


class ServiceHttp(Http, Protocol):
    """Requests with a server's credential, and with another one if there is another."""

    def current_credential(self) -> object:
        """What stands for the credential that goes along now."""
        ...

    async def renew(self, sent: object) -> bool:
        """That credential was refused. Whether there is another one by now."""
        ...

    def seconds_left(self) -> float:
        """Until the call has to be over."""
        ...


class ServiceClient:
    """One vendor's API for one call of a tool. Each service says the rest: its headers, and what an answer means."""

    headers: ClassVar[Mapping[str, str]] = {}
    has_written = False
    """Something was changed by this call: whatever comes later, to make it again would change it again."""

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
        lost: str = MAYBE_DONE,
    ) -> Any:
        """`reads`: it changes nothing, so it may be sent again; where nothing is said, GET alone.

        `lost`: what to say of a write whose answer was lost, above all how to find out what became of it.
        """
        may_repeat = method == "GET" if reads is None else reads
        url, content, kind = self._written(path, query, body, form)
        sent = {"Accept": "application/json", **self.headers, **kind, **(headers or {})}
        renewed = False
        for tried in range(MAX_TRIES):
            credential = self._http.current_credential()
            reply = await self._answered(method, url, sent, content, lost=None if may_repeat else lost, tried=tried)
            if reply is None:
                continue
            match self.verdict(reply):
                case None:
                    self.has_written = self.has_written or not may_repeat
                    return reply.body
                case CredentialRejected(text=told):
                    if renewed or not await self._http.renew(credential):
                        raise _not_accepted(told, reply)
                    renewed = True
                case RateLimited(seconds):
                    await self._wait_for_turn(seconds, tried)
                case ServerTrouble() as trouble:
                    await self._wait_out(reply, trouble, tried, lost=None if may_repeat else lost)
                case Rejected(text, failed):
                    raise ToolFailed(failed, text)
        raise ToolFailed("upstream_unavailable", f"{self.title} did not answer as it should. Try again later.")

    def _written(
        self, path: str, query: Mapping[str, object] | None, body: object, form: Mapping[str, object] | None
    ) -> tuple[str, bytes, Mapping[str, str]]:
        try:
            content, kind = request_encoding.encode_body(body, form)
            return request_encoding.encode_url(self.base_url, path, query), content, kind
        except request_encoding.UnencodableRequest as error:
            raise ToolFailed("invalid_arguments", str(error)) from error

    async def _answered(
        self, method: Method, url: str, headers: Mapping[str, str], content: bytes, *, lost: str | None, tried: int
    ) -> Reply | None:
        """None where it should be sent once more. `lost` is None where that does no harm."""
        try:
            async with self._http.request(method, url, headers, content) as reply:
                return Reply(
                    reply.status, reply.reason, reply.headers, request_encoding.decode_json(await reply.read())
                )
        except UpstreamTimeout as error:
            then = lost if lost and error.sent else "Try again later, or ask for less."
            raise ToolFailed("timeout", f"{self.title} did not answer in time. {then}") from error
        except UnreadableResponse as error:  # too much of it, as a rule: another time it would be the same
            if lost is None:
                error.sent = False  # nobody has to fear that something was done
                raise
            raise ToolFailed("upstream_unavailable", f"{self.title}'s answer could not be read. {lost}") from error
        except Unreachable as error:
            if lost and error.sent:
                raise ToolFailed("upstream_unavailable", f"The connection to {self.title} broke off. {lost}") from error
            await self._pause_before(tried, f"{self.title} could not be reached.")
            return None

    async def _wait_for_turn(self, seconds: float | None, tried: int) -> None:
        """As long as the vendor wants, if there is so much time."""
        wait = PAUSES[min(tried, len(PAUSES) - 1)] if seconds is None else seconds
        if tried + 1 < MAX_TRIES and wait + MARGIN_SECONDS < self._http.seconds_left():
            await self._pause(wait)
            return
        wait = min(max(UNKNOWN_WAIT_SECONDS if seconds is None else seconds, 1.0), LONGEST_WAIT)
        told = f"{self.title} takes no more requests for now. Try again in {wait:.0f} s."
        raise ToolFailed("rate_limited", told, wait)

    async def _wait_out(self, reply: Reply, trouble: ServerTrouble, tried: int, *, lost: str | None) -> None:
        is_down = reply.status in DOWN
        if lost and not trouble.not_applied:
            told = f"{trouble.text} {trouble.if_maybe_applied or lost}"
            raise ToolFailed("upstream_unavailable", told, is_down=is_down)
        await self._pause_before(tried, trouble.text, is_down=is_down)

    async def _pause_before(self, tried: int, problem: str, *, is_down: bool = True) -> None:
        """The next try, if there is one to come."""
        wait = PAUSES[min(tried, len(PAUSES) - 1)]
        if tried + 1 < MAX_TRIES and wait + MARGIN_SECONDS < self._http.seconds_left():
            await self._pause(wait)
            return
        raise ToolFailed("upstream_unavailable", f"{problem} Try again later.", is_down=is_down)


@contextmanager
def too_large_hint(advice: str) -> Iterator[None]:
    """What to do where an answer is more than is taken in."""
    try:
        yield
    except UnreadableResponse as error:
        raise ToolFailed("upstream_refused", f"The answer is larger than the limit. {advice}") from error


def _not_accepted(told: str | None, reply: Reply) -> Exception:
    return ToolFailed("reconnect_required", told) if told else StatusRefused(401, "Unauthorized", dict(reply.headers))
