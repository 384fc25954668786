"""An upstream that answers as a test says, and how it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.kit.egress.policy import Egress, Target, check_text
from api.kit.http_client.client import Outbound
from tests.fakes.upstreams import Answer, Upstream, upstream

HERE = Egress.parse("127.0.0.0/8")


@asynccontextmanager
async def asked_of(answer: Answer) -> AsyncIterator[tuple[Outbound, Target, Upstream]]:
    async with upstream(answer) as there:
        out = Outbound(HERE)
        try:
            yield out, check_text(there.url(), HERE), there
        finally:
            await out.close()
