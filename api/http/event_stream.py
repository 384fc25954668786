"""Streamed responses of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from litestar import Response
from litestar.types import HTTPResponseStartEvent, Receive, Scope, Send

from api.http.server.protocol import ON_SHUTDOWN

HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
START: HTTPResponseStartEvent = {"type": "http.response.start", "status": 200, "headers": HEADERS}


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event of the stream, as the HTML standard defines it."""

    data: str
    type: str | None = None
    id: str | None = None

    def encode(self) -> bytes:
        lines = [f"{name}: {value}" for name, value in (("event", self.type), ("id", self.id)) if value is not None]
        lines += [f"data: {line}" for line in self.data.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        return "\n".join([*lines, "\n"]).encode()


class EventStreamResponse(Response[None]):
    """A response that sends each event when its generator yields it, as fast as the connection accepts them.

    The generator is cancelled when the client closes the connection, and when the server shuts down, which ends the
    response in order.
    """

    def __init__(self, events: AsyncGenerator[ServerSentEvent, None]) -> None:
        super().__init__(None)
        self._events = events

    def to_asgi_response(self, *_: object, **__: object) -> EventStreamResponse:  # type: ignore[override]
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        try:
            if not scope["state"].get("is_head"):
                await self._send_events(scope, receive, send)
        finally:
            await self._events.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_events(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send_each(send))
        scope["state"][ON_SHUTDOWN] = sending.cancel
        leaving = asyncio.create_task(_wait_for_disconnect(receive))
        leaving.add_done_callback(lambda _: sending.cancel())
        try:
            await asyncio.wait([sending])
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.wait([sending])  # until the generator has cleaned up
        if not sending.cancelled():
            sending.result()

    async def _send_each(self, send: Send) -> None:
        async for event in self._events:
            await send({"type": "http.response.body", "body": event.encode(), "more_body": True})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
