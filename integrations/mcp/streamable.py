"""A session over Streamable HTTP with a handshake (2025-03-26 to 2025-11-25)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from integrations.errors import RpcErrorResponse, Unreachable, UnreadableResponse, UpstreamError, UpstreamTimeout
from integrations.http_port import Http
from integrations.mcp import jsonrpc
from integrations.mcp.exchange import ACCEPT, STREAM, RpcOutcome, is_stream, is_success, post, read_outcome
from integrations.mcp.listener import Listener
from integrations.mcp.server_requests import Respondent
from integrations.mcp.session import INITIALIZED, Era, Wait, initialize, negotiated_era

SESSION = "mcp-session-id"
DEFAULT_RETRY_MS, LONGEST_RETRY_MS = 1000, 60_000
MAX_RESUMES = 50
NO_REST = "The server interrupted its response, and the rest could not be read."
# The messages of the SDKs and frameworks, in full.
_SESSION = r"(?:mcp[ -])?session(?:[ -]?id)?"
_NO_SESSION = re.compile(
    r"(?:bad request:? *)?"
    rf"(?:(?:no valid|no|invalid|missing|unknown|expired) (?:or (?:missing|invalid|expired) )?{_SESSION}"
    r"(?: header)?(?: (?:provided|found|was provided))?"
    rf"|{_SESSION}(?: header)? (?:(?:is |has |was )?(?:been )?(?:not found|expired|invalid|missing|required|unknown|"
    r"terminated|closed)|does not exist|not provided)(?: in (?:the )?mcp-session-id header| or (?:has )?expired)?)"
    r"(?:: [!-~]{1,100})?[.!]?",
    re.IGNORECASE,
)
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,1024}")


@dataclass(frozen=True)
class Session:
    era: Era
    headers: Mapping[str, str]

    @property
    def has_id(self) -> bool:
        return SESSION in self.headers


class StreamableSession:
    is_open = True

    def __init__(
        self, http: Http, url: str, numbers: Iterator[int], wait: Wait, respondent: Respondent, session: Session
    ) -> None:
        self._http, self._url, self._numbers, self._wait = http, url, numbers, wait
        self._respondent = respondent
        self._session = session
        self._renewing = asyncio.Lock()
        self._listener: Listener | None = None

    @classmethod
    async def open(
        cls, http: Http, url: str, numbers: Iterator[int], wait: Wait, respondent: Respondent, initialized: RpcOutcome
    ) -> StreamableSession:
        """`initialized`: the response to `initialize`."""
        session = cls(http, url, numbers, wait, respondent, await _start_session(http, url, initialized))
        is_ready = False
        try:
            await session._listen()
            is_ready = True
        finally:
            if not is_ready:
                await session._stop_listening()
        return session

    @property
    def era(self) -> Era:
        return self._session.era

    async def send(self, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]) -> RpcOutcome:
        """Repeat a request only if the session has certainly expired, because then it was not executed."""
        session = self._session
        outcome = await self._send_in(session, method, params, headers)
        if not session.has_id or not _may_have_expired(outcome):
            return outcome
        failure = await self._renew(session)
        if not _has_expired(outcome):
            return outcome
        return failure or await self._send_in(self._session, method, params, headers)

    async def close(self) -> None:
        await self._stop_listening()
        if self._session.has_id:
            with suppress(UpstreamError):
                async with self._http.request("DELETE", self._url, self._session.headers):
                    pass

    async def _send_in(
        self, session: Session, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> RpcOutcome:
        number = next(self._numbers)
        body = jsonrpc.request(number, method, params)
        all_headers = {**headers, **session.headers}
        outcome = await post(
            self._http, self._url, all_headers, number, body, lambda request: self._reply(session, request)
        )
        return await self._resume(session, number, outcome)

    async def _renew(self, expired: Session) -> RpcOutcome | None:
        """Renew an expired session once for all waiting requests; returns the outcome of a failed `initialize`."""
        async with self._renewing:
            if self._session is expired:
                initialized = await initialize_session(
                    self._http, self._url, self._numbers, self._respondent.capabilities
                )
                if initialized.error:
                    return initialized
                self._session = await _start_session(self._http, self._url, initialized)
                await self._listen()
        return None

    async def _listen(self) -> None:
        """Listen for the server's requests, if there is a respondent that can answer them."""
        await self._stop_listening()
        if self._respondent.capabilities:
            session = self._session
            self._listener = Listener(
                self._http, self._url, session.headers, self._wait, lambda request: self._reply(session, request)
            )
            await self._listener.wait_until_open()

    async def _stop_listening(self) -> None:
        listener, self._listener = self._listener, None
        if listener:
            await listener.close()

    async def _resume(self, session: Session, number: int, outcome: RpcOutcome) -> RpcOutcome:
        """Reads the rest of the response; the request itself is not repeated."""
        last_id: str | None = None
        retry_ms = DEFAULT_RETRY_MS
        for _ in range(MAX_RESUMES):
            if not outcome.cut or not (last_id := outcome.cut.last_id or last_id):
                break
            retry_ms = retry_ms if outcome.cut.retry_ms is None else outcome.cut.retry_ms
            await self._wait(_retry_delay(retry_ms))
            outcome = await self._read_rest(session, number, last_id)
        return outcome

    async def _read_rest(self, session: Session, number: int, last_id: str) -> RpcOutcome:
        headers = {**session.headers, "Accept": STREAM, "Last-Event-ID": last_id}
        try:
            async with self._http.request("GET", self._url, headers) as reply:
                if not is_success(reply) or not is_stream(reply):
                    return RpcOutcome(0, error=Unreachable(NO_REST))
                outcome = await read_outcome(reply, number, lambda request: self._reply(session, request))
                return outcome._replace(status=0)
        except Unreachable:  # the request itself was sent, so the error must not say otherwise
            return RpcOutcome(0, error=Unreachable(NO_REST))

    async def _reply(self, session: Session, request: jsonrpc.ServerRequest) -> None:
        response = await self._respondent.answer(request.method, request.params)
        await _notify(self._http, self._url, session.headers, jsonrpc.reply_to(request, response))


async def initialize_session(
    http: Http, url: str, numbers: Iterator[int], capabilities: Mapping[str, Any]
) -> RpcOutcome:
    number = next(numbers)
    return await post(http, url, {}, number, initialize(number, capabilities))


async def _start_session(http: Http, url: str, initialized: RpcOutcome) -> Session:
    era = negotiated_era("streamable", initialized)
    headers = {"MCP-Protocol-Version": str(era.version)}
    if (session_id := initialized.headers.get(SESSION)) is not None:
        if not _SESSION_ID.fullmatch(session_id):
            raise UnreadableResponse("The server sent an invalid session id.")
        headers[SESSION] = session_id
    await _notify(http, url, headers, INITIALIZED)
    return Session(era, headers)


async def _notify(http: Http, url: str, headers: Mapping[str, str], body: bytes) -> None:
    """The response to a notification is ignored; a server that rejects it will reject the next request."""
    with suppress(UpstreamError):
        async with http.request("POST", url, {**ACCEPT, **headers}, body):
            pass


def _may_have_expired(outcome: RpcOutcome) -> bool:
    """Whether a new session is worth a try: 404 as in the protocol, or 400 with a message that mentions sessions."""
    if outcome.status == HTTPStatus.BAD_REQUEST and isinstance(outcome.error, RpcErrorResponse):
        return outcome.error.code in (-32000, -32001, -32600) and "session" in outcome.error.message.lower()
    return outcome.status == HTTPStatus.NOT_FOUND


def _has_expired(outcome: RpcOutcome) -> bool:
    """Whether the request was refused for its session. A message that says more may come from a tool that has done
    its work."""
    if outcome.status == HTTPStatus.BAD_REQUEST and isinstance(outcome.error, RpcErrorResponse):
        return _NO_SESSION.fullmatch(outcome.error.message.strip()) is not None
    return outcome.status == HTTPStatus.NOT_FOUND


def _retry_delay(retry_ms: int) -> float:
    if retry_ms > LONGEST_RETRY_MS:
        raise UpstreamTimeout("The server requested a longer retry delay than is allowed.")
    return retry_ms / 1000
