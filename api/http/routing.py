"""What a route tells about itself, for the contract in openapi.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from api.errors import AppError
from api.http.models import Input, View

DOC = "doc"


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    description: str
    schema: Mapping[str, Any]
    where: str = "query"
    examples: Sequence[Any] = ()


IF_MATCH = Parameter(
    "If-Match",
    "The ETag that you read: the request is carried out only if the object still has it.",
    {"type": "string"},
    "header",
    ['"1"', "*"],
)
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "Makes a repeated request harmless: within 24 hours the same key gives the same answer and nothing happens twice.",
    {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
    "header",
    ["3c0f6f0e-9d0a-4a43-a4a5-0f2f5a0c3d11"],
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What an operation answers when it succeeds."""

    status: int
    description: str
    body: TypeAdapter[Any] | None = None
    example: Any = None
    headers: Sequence[str] = ()
    media_type: str = "application/json"

    @classmethod
    def one(cls, view: type[View], example: Any) -> Reply:
        return cls(200, "As it is now.", TypeAdapter(view), example, ["ETag"])

    @classmethod
    def made(cls, view: type[View], example: Any) -> Reply:
        return cls(201, "Made.", TypeAdapter(view), example, ["ETag", "Location"])

    @classmethod
    def many(cls, kind: TypeAdapter[Any], example: Any) -> Reply:
        return cls(200, "One page.", kind, [example], ["Link"])

    @classmethod
    def gone(cls) -> Reply:
        return cls(204, "Done; nothing to say.")


@dataclass(frozen=True, slots=True)
class Doc:
    """One operation of the contract."""

    id: str
    tag: str
    summary: str
    description: str
    reply: Reply
    body: type[Input] | None = None
    example: Any = None
    parameters: Sequence[Parameter] = ()
    problems: Sequence[type[AppError]] = field(default_factory=tuple)


def documented(doc: Doc) -> dict[str, Any]:
    """For a route's `opt`."""
    return {DOC: doc}
