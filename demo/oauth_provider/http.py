"""HTTP of the fake authorization servers, with responses that can be cut off."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from api.http.server.protocol import LimitedHttpProtocol

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query_text: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.query_text, keep_blank_values=True))

    @cached_property
    def fields(self) -> Json:
        """The fields of a form or a JSON object; empty for any other body."""
        if self.media_type == "application/json":
            return _object(self.body)
        if self.media_type == "application/x-www-form-urlencoded":
            return dict(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))
        return {}

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def has_repeated_parameters(self) -> bool:
        """Whether a parameter is repeated, which RFC 6749 forbids."""
        texts = [self.query_text] + ([] if self.media_type == "application/json" else [self.body.decode("latin-1")])
        pairs = [parse_qsl(text, keep_blank_values=True) for text in texts]
        return any(len(dict(pair)) < len(pair) for pair in pairs)

    @property
    def bearer(self) -> str | None:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" and token else None

    @property
    def basic(self) -> tuple[str, str] | None:
        scheme, _, text = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            name, _, secret = base64.b64decode(text, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return ("", "")
        return unquote_plus(name), unquote_plus(secret)


@dataclass(frozen=True)
class Response:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def json_response(value: object, status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(status, json.dumps(value).encode(), {"Content-Type": "application/json", **named})


def with_changes(value: Mapping[str, Any], changes: Mapping[str, Any]) -> Json:
    """A copy with changed fields. None removes a field."""
    return {name: item for name, item in {**value, **changes}.items() if item is not None or name not in changes}


def html_response(html: str, status: int = 200) -> Response:
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": "default-src 'none'"}
    return Response(status, f"<!doctype html><meta charset=utf-8>{html}".encode(), headers)


def redirect(url: str, parameters: Mapping[str, str | None]) -> Response:
    """A redirect with added parameters, without those that have no value."""
    added = urlencode({name: text for name, text in parameters.items() if text is not None})
    joined = "&" if urlsplit(url).query else "?"
    return Response(HTTPStatus.FOUND, b"", {"Location": f"{url}{joined}{added}", "Cache-Control": "no-store"})


class RequestHandler(Protocol):
    async def respond(self, request: Request) -> Response | None:
        """None closes the connection."""
        ...

    def close(self) -> None: ...


def asgi_app(site: RequestHandler) -> Callable[[Any, Any, Any], Awaitable[None]]:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _handle_lifespan(site, receive, send)
            return
        response = await site.respond(await _request(scope, receive))
        if response is None:
            await _abort(scope, receive)
        else:
            await _send(response, send)

    return app


class AbortableHttpProtocol(LimitedHttpProtocol):
    """Lets an app close the connection instead of responding."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {"cut": self.transport.abort}  # type: ignore[dict-item]


async def _handle_lifespan(site: RequestHandler, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    site.close()
    await send({"type": "lifespan.shutdown.complete"})


async def _request(scope: Any, receive: Any) -> Request:
    body, more = b"", True
    while more:
        part = await receive()
        body += part.get("body", b"")
        more = part.get("more_body", False)
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    return Request(scope["method"], scope["path"], scope["query_string"].decode("latin-1"), headers, body)


async def _abort(scope: Any, receive: Any) -> None:
    scope["extensions"]["cut"]()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(response: Response, send: Any) -> None:
    headers = [(name.lower().encode(), text.encode()) for name, text in response.headers.items()]
    headers.append((b"content-length", b"%d" % len(response.body)))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


def _object(body: bytes) -> Json:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
