"""An upstream that answers as a test says, and how it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.kit.egress.policy import CheckedUrl, EgressPolicy, check_url
from api.kit.http_client.client import HttpClient
from tests.fakes.raw_upstream import RawUpstream, Responder, upstream

LOOPBACK = EgressPolicy.parse("127.0.0.0/8")


@asynccontextmanager
async def client_and_upstream(responder: Responder) -> AsyncIterator[tuple[HttpClient, CheckedUrl, RawUpstream]]:
    async with upstream(responder) as there:
        out = HttpClient(LOOPBACK)
        try:
            yield out, check_url(there.url(), LOOPBACK), there
        finally:
            await out.close()
