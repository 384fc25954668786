"""Route decorators, and what a route declares: its guard and its entry in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal

from litestar import Response, route
from litestar._kwargs import KwargsModel
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.types.internal_types import PathParameterDefinition
from pydantic import TypeAdapter

from api.errors import AppError, FieldError, Forbidden, MethodNotAllowed, Unauthorized, ValidationFailed
from api.http.models import RequestModel, ResponseModel

DOC = "doc"
PATCH: Literal["PATCH"] = "PATCH"
LONGEST_NAME = 64
MOST_ERRORS = 20
ID_PATTERN = "^[a-z0-9_]{1,40}$"

Connection = ASGIConnection[Any, Any, Any, Any]


class Guard:
    """The requirements of a route on its caller. Litestar calls it before the handler."""

    requires = ""
    problems: ClassVar[Sequence[type[AppError]]] = (Unauthorized, Forbidden)

    async def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        raise NotImplementedError


def guard_of(handler: BaseRouteHandler) -> Guard | None:
    return next((guard for guard in handler.guards or () if isinstance(guard, Guard)), None)


def request_model_of(handler: HTTPRouteHandler) -> type[RequestModel] | None:
    """The model of the body, from the signature."""
    data = handler.parsed_fn_signature.parameters.get("data")
    return data.annotation if data else None


class _LeanHandler(HTTPRouteHandler):
    """Litestar copies the whole handler for each guard of each request; our guards only use the request."""

    def create_kwargs_model(self, path_parameters: dict[str, PathParameterDefinition]) -> KwargsModel:
        """Litestar starts a task group for independent providers. Our providers only use the request and never wait."""
        model = super().create_kwargs_model(path_parameters)
        providers = [(record.key, record.provide.dependency) for batch in model.dependency_batches for record in batch]

        async def provide(values: dict[str, Any], connection: Connection) -> None:
            for name, provider in providers:
                values[name] = provider(connection)

        model.extractors.append(provide)
        model.dependency_batches = []
        return model

    async def authorize_connection(self, connection: Connection) -> None:
        if connection.scope["state"].get("is_head") and "HEAD" not in self.http_methods:
            allow = allow_header(self.http_methods)
            raise MethodNotAllowed(f"Allowed methods: {allow}.", headers={"Allow": allow})
        for guard in self.resolve_guards():
            await guard(connection, self)  # type: ignore[misc]
        if connection.scope["query_string"]:
            check_parameters(connection, self)


def check_parameters(connection: Connection, handler: BaseRouteHandler) -> None:
    """Refuses a parameter that the route does not have: a mistyped filter would show everything.

    Routes for browsers take any: an authorization server may add its own (RFC 6749, section 4.1.2).
    """
    query: bytes = connection.scope["query_string"]
    known = _query_parameters(handler)
    if known is None or (b"&" not in query and query.partition(b"=")[0] in known):  # as most are written
        return
    unknown = [name for name in dict.fromkeys(connection.query_params) if name.encode() not in known]
    if unknown:
        listed = f"Parameters: {b', '.join(known).decode()}." if known else "This request takes none."
        message = f"There is no such query parameter. {listed}"
        errors = [FieldError(_shown(name), message) for name in unknown[:MOST_ERRORS]]
        raise ValidationFailed("See `errors` for what to change.", errors=errors)


@cache
def _query_parameters(handler: BaseRouteHandler) -> tuple[bytes, ...] | None:
    """The names that the route takes; None if it takes any."""
    guard = guard_of(handler)
    if guard is None or not guard.problems:
        return None
    return tuple(item.name.encode() for item in handler.opt[DOC].parameters if item.where == "query")


def _shown(name: str) -> str:
    """An overlong name may be a secret."""
    return name if len(name) <= LONGEST_NAME else "…"


def get(path: str | list[str], **options: Any) -> HTTPRouteHandler:
    """GET and HEAD. `RequestMiddleware` turns HEAD into GET and leaves out the body of the response."""
    return _LeanHandler(path, http_method=["GET", "HEAD"], **options)


def only_get(path: str, **options: Any) -> HTTPRouteHandler:
    """GET for routes that consume something: HEAD, which link previews send, is refused."""
    return _LeanHandler(path, http_method="GET", **options)


def post(path: str, **options: Any) -> HTTPRouteHandler:
    return _LeanHandler(path, http_method="POST", **options)


def put(path: str, **options: Any) -> HTTPRouteHandler:
    """PUT and PATCH, which both take any subset of the fields."""
    return _LeanHandler(path, http_method=["PUT", PATCH], **options)


def is_merge_patch(connection: Connection) -> bool:
    """RFC 7396: also an object within the body changes only what it names."""
    return connection.scope["method"] == PATCH  # type: ignore[typeddict-item]  # no handler is called for a socket


def delete(path: str, **options: Any) -> HTTPRouteHandler:
    return _LeanHandler(path, http_method="DELETE", **options)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    description: str
    schema: Mapping[str, Any]
    where: str = "query"
    example: Any = None


IF_MATCH = Parameter(
    "If-Match",
    "The ETag or version from an earlier response: the request is carried out only if it is still current.",
    {"type": "string"},
    "header",
    '"1"',
)
REPLAYED = "Idempotent-Replayed"
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "Makes a request safe to repeat: for 24 hours the same key gets the same response, without a second execution. A "
    "repeated response has the header `Idempotent-Replayed: true`.",
    {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
    "header",
    "3c0f6f0e-9d0a-4a43-a4a5-0f2f5a0c3d11",
)


@dataclass(frozen=True, slots=True)
class SuccessResponse:
    """The response of an operation that succeeds."""

    status: int
    description: str
    body: TypeAdapter[Any] | None = None
    example: Any = None
    headers: Sequence[str] = ()
    media_type: str = "application/json"

    @classmethod
    def item(cls, view: type[ResponseModel], example: Any) -> SuccessResponse:
        return cls(200, "The current representation.", TypeAdapter(view), example, ["ETag"])

    @classmethod
    def created(cls, view: type[ResponseModel], example: Any) -> SuccessResponse:
        return cls(201, "Created.", TypeAdapter(view), example, ["ETag", "Location"])

    @classmethod
    def many(cls, kind: TypeAdapter[Any], example: Any) -> SuccessResponse:
        return cls(200, "One page.", kind, [example], ["Link"])

    @classmethod
    def no_content(cls) -> SuccessResponse:
        return cls(204, "No content.")


@dataclass(frozen=True, slots=True)
class OperationDoc:
    """One operation of the contract."""

    id: str
    tag: str
    summary: str
    description: str
    reply: SuccessResponse
    example: Any = None
    parameters: Sequence[Parameter] = ()
    problems: Sequence[type[AppError]] = field(default_factory=tuple)
    not_modified: SuccessResponse | None = None
    """The response to a client that has the current version."""
    browser_error: SuccessResponse | None = None
    """The error response for a person in a browser, instead of a problem document."""


def documented(doc: OperationDoc) -> dict[str, Any]:
    """The value of a route's `opt`."""
    return {DOC: doc}


def allow_header(methods: Iterable[str]) -> str:
    """The value of the header `Allow`. Every path supports OPTIONS."""
    return ", ".join(sorted({*methods, "OPTIONS"}))


def options(routes: Iterable[object]) -> list[HTTPRouteHandler]:
    """An OPTIONS handler for each path. Litestar's own handler lists only the methods of a path's first handler."""
    methods: dict[str, set[str]] = {}
    for handler in (handler for handler in routes if isinstance(handler, HTTPRouteHandler)):
        for path in handler.paths:
            methods.setdefault(path, set()).update(handler.http_methods)
    return [_options(path, allow_header(path_methods)) for path, path_methods in methods.items()]


def _options(path: str, allow: str) -> HTTPRouteHandler:
    async def respond() -> Response[None]:
        return Response(None, status_code=204, headers={"Allow": allow})

    return route(path, http_method="OPTIONS", status_code=204)(respond)
