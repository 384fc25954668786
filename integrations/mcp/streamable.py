"""A server with a handshake and perhaps a session (Streamable HTTP, 2025-03-26 to 2025-11-25)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from integrations.client import Http
from integrations.errors import TimedOut, Unreadable, UpstreamError
from integrations.mcp import wire
from integrations.mcp.answers import ACCEPT, STREAM, Outcome, is_stream, is_success, posted, received, refusal
from integrations.mcp.connection import Era
from integrations.mcp.handshake import INITIALIZED, agreed, initialize

SESSION = "mcp-session-id"
DEFAULT_RETRY_MS, LONGEST_RETRY_MS = 1000, 60_000
MAX_RESUMES = 50
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,1024}")

Wait = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Session:
    era: Era
    headers: Mapping[str, str]

    @property
    def has_id(self) -> bool:
        return SESSION in self.headers


class Streamable:
    is_open = True

    def __init__(self, http: Http, url: str, numbers: Iterator[int], wait: Wait, session: Session) -> None:
        self._http, self._url, self._numbers, self._wait = http, url, numbers, wait
        self._session = session
        self._renewing = asyncio.Lock()

    @classmethod
    async def opened(cls, http: Http, url: str, numbers: Iterator[int], wait: Wait, first: Outcome) -> Streamable:
        """`first` is the answer to `initialize`."""
        return cls(http, url, numbers, wait, await _begun(http, url, first))

    @property
    def era(self) -> Era:
        return self._session.era

    async def send(self, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Outcome:
        """A session that is over was not there to execute anything, so only then it is sent a second time."""
        session = self._session
        outcome = await self._sent(session, method, params, headers)
        if outcome.status != HTTPStatus.NOT_FOUND or not session.has_id:
            return outcome
        if (problem := await self._renewed(session)) is not None:
            return problem
        return await self._sent(self._session, method, params, headers)

    async def close(self) -> None:
        if self._session.has_id:
            with suppress(UpstreamError):
                async with self._http.request("DELETE", self._url, self._session.headers):
                    pass

    async def _sent(
        self, session: Session, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> Outcome:
        number = next(self._numbers)
        body = wire.request(number, method, params)
        sent = {**headers, **session.headers}
        outcome = await posted(self._http, self._url, sent, number, body, lambda asked: self._reply(session, asked))
        return await self._resumed(session, number, outcome)

    async def _renewed(self, over: Session) -> Outcome | None:
        """The answer to `initialize` where it was no success. Of many who notice at once, one renews it for all."""
        async with self._renewing:
            if self._session is over:
                first = await first_answer(self._http, self._url, self._numbers)
                if first.error:
                    return first
                self._session = await _begun(self._http, self._url, first)
        return None

    async def _resumed(self, session: Session, number: int, outcome: Outcome) -> Outcome:
        """The request was sent once; what is asked for now is only the rest of its answer."""
        last_id: str | None = None
        retry_ms = DEFAULT_RETRY_MS
        for _ in range(MAX_RESUMES):
            if not outcome.cut or not (last_id := outcome.cut.last_id or last_id):
                break
            retry_ms = retry_ms if outcome.cut.retry_ms is None else outcome.cut.retry_ms
            await self._wait(_patience(retry_ms))
            outcome = await self._rest(session, number, last_id)
        return outcome

    async def _rest(self, session: Session, number: int, last_id: str) -> Outcome:
        headers = {**session.headers, "Accept": STREAM, "Last-Event-ID": last_id}
        async with self._http.request("GET", self._url, headers) as reply:
            if not is_success(reply):
                # Not as itself: a 404 here says nothing about whether the request was executed.
                return Outcome(0, error=await refusal(reply))
            if not is_stream(reply):
                return Outcome(0, error=Unreadable("The rest of the answer is no stream."))
            outcome = await received(reply, number, lambda asked: self._reply(session, asked))
            return replace(outcome, status=0)

    async def _reply(self, session: Session, asked: wire.Asked) -> None:
        await _told(self._http, self._url, session.headers, wire.reply_to(asked))


async def first_answer(http: Http, url: str, numbers: Iterator[int]) -> Outcome:
    number = next(numbers)
    return await posted(http, url, {}, number, initialize(number))


async def _begun(http: Http, url: str, first: Outcome) -> Session:
    era = agreed("streamable", first)
    headers = {"MCP-Protocol-Version": str(era.version)}
    if (given := first.headers.get(SESSION)) is not None:
        if not _SESSION_ID.fullmatch(given):
            raise Unreadable("The server gave a session an id that cannot be sent back.")
        headers[SESSION] = given
    await _told(http, url, headers, INITIALIZED)
    return Session(era, headers)


async def _told(http: Http, url: str, headers: Mapping[str, str], body: bytes) -> None:
    """Nobody waits for what a server says to a notification; one that minds will say so at the next request."""
    with suppress(UpstreamError):
        async with http.request("POST", url, {**ACCEPT, **headers}, body):
            pass


def _patience(retry_ms: int) -> float:
    if retry_ms > LONGEST_RETRY_MS:
        raise TimedOut("The server wants to be asked again later than anybody waits.")
    return retry_ms / 1000
