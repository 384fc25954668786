"""The HTTP port that every caller of an integration provides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class HttpReply(Protocol):
    """The head of an answer, with its body still to come. Leaving the context closes the connection, if need be."""

    @property
    def status(self) -> int: ...

    @property
    def reason(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        ...

    async def read(self) -> bytes:
        """All of the body; `Unreadable` where it is more than is taken in."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, for answers that are streams; bounded in the same way."""
        ...


class Http(Protocol):
    """Requests to one upstream, with its credentials added and every address judged.

    Raises `Unreachable`, `UpstreamTimeout` and `UnreadableResponse`. Redirects are returned like any response.
    Nothing is sent twice.
    """

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> AbstractAsyncContextManager[HttpReply]:
        """`lasting`: the answer is a stream that stays open beyond the call for which it is opened."""
        ...
