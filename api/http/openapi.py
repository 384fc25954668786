"""Writes the contract: OpenAPI 3.1 from the routes, with the schemas exactly as pydantic enforces them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from pydantic import TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic.json_schema import models_json_schema

from api.access.guards import Guard, NeedsOperator, OpenToAll, guard_of
from api.errors import (
    PROBLEM_TYPE,
    AppError,
    BadCursor,
    Forbidden,
    Internal,
    Invalid,
    KeyReused,
    NotFound,
    NotJson,
    Stale,
    TooLarge,
    Unauthorized,
    Unavailable,
    Unreadable,
)
from api.http.routing import DOC, IDEMPOTENCY_KEY, IF_MATCH, Doc, Parameter, Reply

REF = "#/components/schemas/{model}"
INFO = {
    "title": "Plugboard",
    "version": "0.1.0",
    "description": "Stores MCP servers and services for each workspace with sealed credentials, and turns them into "
    "tools for agents.\n\nEvery answer has an `X-Request-Id`. Every error is a problem document (RFC 9457) with a "
    "stable `code`.",
}
HEADERS: dict[str, Any] = {
    "ETag": {"description": "The object's version; send it as `If-Match`.", "schema": {"type": "string"}},
    "Location": {"description": "Where the new object is.", "schema": {"type": "string"}},
    "Link": {
        "description": 'Where more follows: `<…>; rel="next"`.',
        "schema": {"type": "string"},
    },
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
    "WWW-Authenticate": {"description": "How to sign in.", "schema": {"type": "string"}},
}
PROBLEM = {
    "title": "Problem",
    "type": "object",
    "description": "What went wrong and what to do about it.",
    "required": ["type", "title", "status", "code", "detail"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable: programs may rely on it."},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "For invalid input: what is wrong, and where.",
            "items": {
                "type": "object",
                "required": ["path", "message"],
                "additionalProperties": False,
                "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


def contract(app: Litestar) -> dict[str, Any]:
    operations = [(route, handler, handler.opt[DOC]) for route, handler in _handlers(app)]
    paths: dict[str, dict[str, Any]] = {}
    for route, handler, doc in sorted(operations, key=lambda each: each[0].path):
        path = re.sub(r"\{(\w+):\w+\}", lambda match: f"{{{to_camel(match[1])}}}", _path(route))
        operation = _operation(handler, doc, re.findall(r"\{(\w+)\}", path))
        paths.setdefault(path, {})[_method(handler)] = operation
    return {
        "openapi": "3.1.0",
        "info": INFO,
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in sorted({doc.tag for _, _, doc in operations})],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key made by a workspace's admin, by an operator, or by `plugboard setup`.",
                }
            },
            "headers": HEADERS,
            "schemas": _schemas(doc for _, _, doc in operations),
        },
    }


def as_yaml(document: Mapping[str, Any]) -> str:
    return yaml.dump(dict(document), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=110)


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # the same example twice is written twice
        return True


def _handlers(app: Litestar) -> Iterable[tuple[HTTPRoute, HTTPRouteHandler]]:
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            yield from ((route, handler) for handler in route.route_handlers if DOC in handler.opt)


def _path(route: HTTPRoute) -> str:
    return str(route.path_format) if "{" not in route.path else route.path


def _method(handler: HTTPRouteHandler) -> str:
    return next(iter(handler.http_methods)).lower()


def _operation(handler: HTTPRouteHandler, doc: Doc, in_path: Sequence[str]) -> dict[str, Any]:
    guard = guard_of(handler)
    operation: dict[str, Any] = {
        "operationId": doc.id,
        "tags": [doc.tag],
        "summary": doc.summary,
        "description": f"{doc.description}\n\n{_asks(guard)}",
        "security": [] if isinstance(guard, OpenToAll) else [{"apiKey": []}],
    }
    parameters = [*map(_path_parameter, in_path), *map(_parameter, doc.parameters)]
    if parameters:
        operation["parameters"] = parameters
    if doc.body:
        operation["requestBody"] = {"required": True, "content": _content(_ref(doc.body.__name__), doc.example)}
    operation["responses"] = _responses(doc, guard, bool(in_path))
    return operation


def _asks(guard: Guard | None) -> str:
    return f"Needs {guard.asks}." if guard else ""


def _path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "pattern": "^[a-z0-9_]{1,40}$"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.where,
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }
    if parameter.examples:
        described["examples"] = {f"e{n}": {"value": value} for n, value in enumerate(parameter.examples, 1)}
    return described


def _responses(doc: Doc, guard: Guard | None, has_path: bool) -> dict[str, Any]:
    responses = {str(doc.reply.status): _reply(doc.reply)}
    by_status: dict[int, list[type[AppError]]] = {}
    for error in dict.fromkeys(_problems(doc, guard, has_path)):
        by_status.setdefault(error.status, []).append(error)
    return responses | {str(status): _problem(by_status[status]) for status in sorted(by_status)}


def _problems(doc: Doc, guard: Guard | None, has_path: bool) -> Iterable[type[AppError]]:
    """What an operation can answer besides, told from what it asks and takes."""
    yield from doc.problems
    if not isinstance(guard, OpenToAll):
        yield from (Unauthorized, Internal, Unavailable)
    if has_path or isinstance(guard, NeedsOperator):
        yield Forbidden
    if has_path:
        yield NotFound
    if doc.body:
        yield from (Unreadable, TooLarge, NotJson, Invalid)
    names = {parameter.name for parameter in doc.parameters}
    if "cursor" in names:
        yield from (BadCursor, Invalid)
    if IF_MATCH.name in names:
        yield Stale
    if IDEMPOTENCY_KEY.name in names:
        yield KeyReused


def _reply(reply: Reply) -> dict[str, Any]:
    described: dict[str, Any] = {"description": reply.description}
    if reply.headers:
        described["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in reply.headers}
    if reply.body:
        described["content"] = _content(_schema_of(reply.body), reply.example)
    elif reply.media_type != "application/json":
        described["content"] = {reply.media_type: {"schema": {"type": "string"}}}
    return described


def _problem(errors: Sequence[type[AppError]]) -> dict[str, Any]:
    codes = " or ".join(f"`{error.code}`" for error in errors)
    example = {
        "type": f"urn:plugboard:problem:{errors[0].code}",
        "title": errors[0].title,
        "status": errors[0].status,
        "code": errors[0].code,
        "detail": "A sentence that says what to do.",
    }
    described: dict[str, Any] = {
        "description": f"{' or '.join(dict.fromkeys(error.title for error in errors))} ({codes}).",
        "content": {PROBLEM_TYPE: {"schema": _ref("Problem"), "example": example}},
    }
    headers = {401: "WWW-Authenticate", 503: "Retry-After"}
    if name := headers.get(errors[0].status):
        described["headers"] = {name: {"$ref": f"#/components/headers/{name}"}}
    return described


def _content(schema: Mapping[str, Any], example: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema, "example": example}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": REF.format(model=name)}


def _schema_of(kind: TypeAdapter[Any]) -> dict[str, Any]:
    """A list of views is a list of references; a view is one."""
    schema = kind.json_schema(mode="serialization", ref_template=REF)
    if schema.get("type") == "array":
        return {"type": "array", "items": schema["items"]}
    return _ref(schema["title"])


def _schemas(docs: Iterable[Doc]) -> dict[str, Any]:
    models: list[tuple[Any, Any]] = []
    for doc in docs:
        if doc.body:
            models.append((doc.body, "validation"))
        if doc.reply.body:
            models += [(model, "serialization") for model in _models(doc.reply.body)]
    _, made = models_json_schema(list(dict.fromkeys(models)), ref_template=REF)
    return {**dict(sorted(made["$defs"].items())), "Problem": PROBLEM}


def _models(kind: TypeAdapter[Any]) -> list[Any]:
    inner = kind._type  # noqa: SLF001  # what the adapter was made for
    return [getattr(inner, "__args__", (inner,))[0]]
