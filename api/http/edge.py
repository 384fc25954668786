"""The outermost layer: an id for each request, safety headers for each answer, a line in the log for both."""

from __future__ import annotations

import logging
import re
import secrets
import time
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")
SAFETY = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
]

log = logging.getLogger("plugboard.request")


class Edge:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = _request_id(scope)
        state: dict[str, Any] = scope.setdefault("state", {})
        state["request_id"] = request_id
        extra = [*SAFETY, (b"x-request-id", request_id.encode())]
        status = 0

        async def send_more(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _extend(message, extra)
            await send(message)

        try:
            await self._app(scope, receive, send_more)
        finally:
            if log.isEnabledFor(logging.INFO):
                _write(scope, request_id, status, time.perf_counter() - started)


def _extend(message: HTTPResponseStartEvent, extra: list[tuple[bytes, bytes]]) -> None:
    message["headers"] = [*message["headers"], *extra]


def _request_id(scope: Scope) -> str:
    """The caller's own, where it is one that cannot confuse a log; otherwise a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and GIVEN_ID.fullmatch(value):
            return value.decode()
    return secrets.token_hex(12)


def _write(scope: Scope, request_id: str, status: int, seconds: float) -> None:
    context = scope["state"].get("context")  # what a guard left there
    log.info(
        "request",
        extra={
            "request_id": request_id,
            "method": scope.get("method"),
            "route": scope.get("path_template"),
            "status": status,
            "ms": round(seconds * 1000, 2),
            "workspace": getattr(context, "workspace_id", None),
            "key": getattr(getattr(context, "caller", None), "key_id", None),
        },
    )
