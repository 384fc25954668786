"""Files of the documentation, as they are sent: compressed once, and not again to a client that has them."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from litestar import Response
from litestar.types import Receive, Scope, Send

from api.http.middleware import SECURITY_HEADERS, replace_security_headers
from api.http.request import AnyRequest
from api.http.responses import OK, BytesResponse

NOT_MODIFIED = 304
CHECKED_EACH_TIME, FOR_EVER = "no-cache", "public, max-age=31536000, immutable"
DEFAULT_POLICY = dict(SECURITY_HEADERS)[b"content-security-policy"].decode()
CHUNK_BYTES = 65_536
"""A slow client holds no more than this in the memory of the process."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    media_type: str
    gzipped: bytes = field(repr=False)
    etag: str
    cache_control: str = CHECKED_EACH_TIME
    policy: str = DEFAULT_POLICY

    @classmethod
    def of(
        cls, content: bytes, media_type: str, cache_control: str = CHECKED_EACH_TIME, policy: str = DEFAULT_POLICY
    ) -> PublishedFile:
        gzipped = gzip.compress(content, mtime=0)
        return cls(media_type, gzipped, etag_of(hashlib.sha256(content).hexdigest()), cache_control, policy)

    async def response(self, request: AnyRequest) -> Response[bytes]:
        headers = {"ETag": self.etag, "Vary": "Accept-Encoding"}
        if self.etag in request.headers.get("If-None-Match", ""):
            return _PublishedResponse(NOT_MODIFIED, b"", headers, self)
        if _accepts_gzip(request):
            return _PublishedResponse(OK, self.gzipped, headers | {"Content-Encoding": "gzip"}, self)
        plain = await asyncio.to_thread(gzip.decompress, self.gzipped)
        return _PublishedResponse(OK, plain, headers, self)


def etag_of(sha256: str) -> str:
    """A weak one, because it stands for the file in every encoding."""
    return f'W/"{sha256[:16]}"'


class _PublishedResponse(BytesResponse):
    def __init__(self, status: int, body: bytes, headers: Mapping[str, str], file: PublishedFile) -> None:
        super().__init__(status, body, headers, file.media_type)
        self._file = file
        if status == NOT_MODIFIED:  # its length would be that of the whole file
            kept = [(name, value) for name, value in self._start["headers"] if not name.startswith(b"content-")]
            self._start = {**self._start, "headers": kept}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # the names count
        replace_security_headers(scope, cache_control=self._file.cache_control, policy=self._file.policy)
        await send(self._start)
        for start in range(0, len(self.content), CHUNK_BYTES):
            await send(
                {"type": "http.response.body", "body": self.content[start : start + CHUNK_BYTES], "more_body": True}
            )
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _accepts_gzip(request: AnyRequest) -> bool:
    for entry in request.headers.get("Accept-Encoding", "").lower().split(","):
        coding, _, weight = entry.partition(";")
        if coding.strip() in ("gzip", "*"):
            return weight.replace(" ", "").rstrip("0").rstrip(".") not in ("q=0", "q=")
    return False
