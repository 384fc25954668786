"""The steps of a script: requests to Plugboard, and events between them.

`{name}` in a path, a header or a body stands for a variable: one of the environment's, or one saved from an earlier
response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ABSENT: Any = object()
"""No body, as opposed to `null`."""
ANONYMOUS = "anonymous"


@dataclass(frozen=True)
class Request:
    name: str
    method: str
    path: str
    caller: str = "admin"
    """ANONYMOUS, or the owner of the API key: `read` sends the variable `read_key`."""
    json: Any = ABSENT
    content: bytes | None = None
    """A body that is not valid JSON, or not JSON at all."""
    headers: Mapping[str, str] = field(default_factory=dict)
    saves: Mapping[str, str] = field(default_factory=dict)
    """Variables, each with a path in the response's body (`apiKey`, `0.id`) or the name of a header."""
    items: int | None = None
    """The request is repeated until the response lists this many items, which are written in the background."""


@dataclass(frozen=True)
class RawRequest:
    """Bytes for a connection of their own, which the server closes."""

    name: str
    data: bytes


@dataclass(frozen=True)
class ClockAdvance:
    seconds: float


@dataclass(frozen=True)
class Consent:
    """A browser visits a provider, which redirects it at once; `callback` is saved."""

    url: str = "{location}"


@dataclass(frozen=True)
class ProviderChange:
    """A fake provider behaves differently, has a fault, learns of a client, or ends tokens or grants."""

    tenant: str
    behave: Mapping[str, Any] = field(default_factory=dict)
    fault: Mapping[str, Any] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)
    heal: bool = False
    expire: bool = False
    forget: bool = False


@dataclass(frozen=True)
class Revocations:
    """Waits until this many tokens have been revoked at providers, which happens in the background."""

    count: int


Step = Request | RawRequest | ClockAdvance | Consent | ProviderChange | Revocations
Script = Sequence[Step]


def get(name: str, path: str, caller: str = "admin", **more: Any) -> Request:
    return Request(name, "GET", path, caller, **more)


def post(name: str, path: str, json: Any = ABSENT, **more: Any) -> Request:
    return Request(name, "POST", path, json=json, **more)


def put(name: str, path: str, json: Any = ABSENT, **more: Any) -> Request:
    return Request(name, "PUT", path, json=json, **more)


def delete(name: str, path: str, **more: Any) -> Request:
    return Request(name, "DELETE", path, **more)
