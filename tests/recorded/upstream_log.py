"""A log of the requests that Plugboard sends to the fakes."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from demo.mcp_servers import McpRequest as ServerSeen
from demo.oauth_provider.tenant import RecordedRequest as ProviderSeen
from tests.recorded.environment import Environment

Json = dict[str, Any]
LENGTH = "content-length"


class UpstreamLog:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._positions: dict[str, int] = {}
        self.background: list[Json] = []
        """Requests that may be sent after the response: for lists, ends of sessions and revocations."""

    def take(self) -> list[Json]:
        """New requests, by upstream: requests to several upstreams are under way at the same time."""
        entries = [
            (_to_server(name, seen), seen.method in ("DELETE", "tools/list"))
            for name, fake in self._environment.fakes.items()
            for seen in self._new(name, fake.requests)
        ]
        new = self._new("provider", self._environment.provider.recorded_requests)
        entries += [(_to_provider(seen), seen.endpoint == "revoke") for seen in new]
        self.background += [entry for entry, is_background in entries if is_background]
        return sorted(
            (entry for entry, is_background in entries if not is_background), key=lambda entry: str(entry["to"])
        )

    def revocations(self) -> int:
        self.background += self.take()
        return len({json.dumps(entry["body"]) for entry in self.background if "revoke" in entry["request"]})

    def _new(self, name: str, seen: list[Any]) -> list[Any]:
        start = self._positions.get(name, 0)
        self._positions[name] = len(seen)
        return seen[start : self._positions[name]]


def _to_server(name: str, seen: ServerSeen) -> Json:
    body = seen.message | ({"id": "<number>"} if "id" in seen.message else {})
    return {"to": name, "request": f"{seen.http_method} {seen.path}", "headers": _headers(seen.headers), "body": body}


def _to_provider(seen: ProviderSeen) -> Json:
    entry = {"to": seen.tenant, "request": f"{seen.method} {seen.path}", "headers": _headers(seen.headers)}
    query = {"query": dict(seen.query)} if seen.query else {}
    return entry | query | ({"body": _body(seen)} if seen.body else {})


def _body(seen: ProviderSeen) -> Any:
    try:
        return json.loads(seen.body)
    except ValueError:
        return dict(seen.fields) or seen.body


def _headers(headers: Mapping[str, str]) -> Json:
    return {name: "<length>" if name == LENGTH else _header(text) for name, text in headers.items()}


def _header(text: str) -> str:
    """Credentials of HTTP Basic are decoded, as parts of them are random."""
    scheme, _, value = text.partition(" ")
    return f"Basic [{base64.b64decode(value).decode()}]" if scheme == "Basic" else text
