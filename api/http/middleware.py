"""The outermost layer: request ids, security headers and the access log."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from msgspec import UNSET

from api.http.client_address import ClientAddresses
from api.http.request import SHORT_PATH, SHORT_QUERY, target_refusal
from api.http.request_metrics import RequestCollector
from api.http.responses import problem
from api.kit.logs import RequestLine

ACCEPTED_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")
SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
]

OWN_HEADERS = "security_headers"

# Process and counter make an id unique; random bytes would cost each request more.
_PROCESS, _COUNTER = secrets.token_hex(6), count()

AccessLog = Callable[[RequestLine], None]


class RequestMiddleware:
    def __init__(
        self,
        app: ASGIApp,
        access_log: AccessLog | None = None,
        metrics: RequestCollector | None = None,
        addresses: ClientAddresses | None = None,
    ) -> None:
        self._app = app
        self._access_log = access_log
        self._metrics = metrics or RequestCollector()
        self._client_address = (addresses or ClientAddresses()).of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = _request_id(scope)
        state: dict[str, Any] = scope.setdefault("state", {})
        state["request_id"] = request_id
        state["client_address"] = self._client_address(scope)
        method, served = scope["method"], scope
        if method == "HEAD":
            state["is_head"] = True
            served = _as_get(scope)
        id_header = (b"x-request-id", request_id.encode())
        status, sent_bytes = 0, 0

        def send_extended(message: Message) -> Awaitable[None]:
            nonlocal status, sent_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
                return send(
                    {**message, "headers": [*message["headers"], *state.get(OWN_HEADERS, SECURITY_HEADERS), id_header]}
                )
            if message["type"] == "http.response.body":
                if served is not scope:
                    return send({**message, "body": b""})
                sent_bytes += len(message["body"])
            return send(message)

        is_short = len(scope["path"]) <= SHORT_PATH and len(scope["query_string"]) < SHORT_QUERY
        refusal = None if is_short else target_refusal(scope)
        try:
            await (problem(refusal) if refusal else self._app)(served, receive, send_extended)
        finally:
            seconds = time.perf_counter() - started
            self._metrics.record(served.get("path_template"), method, status, seconds)
            if self._access_log:
                self._access_log(_log_line(served, method, status, sent_bytes, seconds))


def replace_security_headers(scope: Mapping[str, Any], *, cache_control: str, policy: str) -> None:
    """For a response that may be cached and has a policy of its own."""
    own = {b"cache-control": cache_control.encode(), b"content-security-policy": policy.encode()}
    scope["state"][OWN_HEADERS] = [(name, own.get(name, value)) for name, value in SECURITY_HEADERS]


def log_outcome(scope: Mapping[str, Any], outcome: str, *, failed: bool) -> None:
    """For a response whose status does not show the outcome, as that of a tool call."""
    state = scope["state"]
    state["outcome"] = outcome
    if failed:
        state["log_level"] = "warning"


def _as_get(scope: HTTPScope) -> HTTPScope:
    """HEAD is GET without the response body (RFC 9110), for every route and with the same guard."""
    return {**scope, "method": "GET"}


def _request_id(scope: Scope) -> str:
    """The client's own id if it is safe to log; otherwise a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and ACCEPTED_ID.fullmatch(value):
            return value.decode()
    return f"{_PROCESS}{next(_COUNTER):012x}"


def _log_line(scope: Scope, method: str, status: int, sent_bytes: int, seconds: float) -> RequestLine:
    state = scope["state"]
    context = state.get("context")  # set by the guard
    return RequestLine(
        level=state.get("log_level", "info"),
        request_id=state["request_id"],
        method=method,
        route=scope.get("path_template", UNSET),
        status=status,
        bytes=sent_bytes,
        ms=round(seconds * 1000, 2),
        client_address=state["client_address"] or UNSET,
        workspace=getattr(context, "workspace_id", UNSET),
        key=context.principal.id if context else UNSET,
        outcome=state.get("outcome", UNSET),
    )
