"""The HTTP port that every caller of an integration provides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class HttpReply(Protocol):
    """The head of a response whose body has not been read. Leaving the context closes the connection if necessary."""

    @property
    def status(self) -> int: ...

    @property
    def reason(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        ...

    async def read(self) -> bytes:
        """The whole body; raises `UnreadableResponse` if it exceeds the size limit."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The parts of the body as they arrive, for streamed responses, in pieces between which other tasks run.

        The same size limit applies, except to a lasting stream: its caller limits each event.
        """
        ...


class Http(Protocol):
    """Requests to one upstream, with its credential added and every address checked by the egress policy.

    Raises `Unreachable`, `UpstreamTimeout` and `UnreadableResponse`. Redirects are returned like any response.
    No request is sent twice.
    """

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> AbstractAsyncContextManager[HttpReply]:
        """`lasting`: the response is a stream that stays open after the call that opened it, and of any length."""
        ...
