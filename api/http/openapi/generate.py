"""The OpenAPI 3.1 document, generated from the routes, with the schemas exactly as pydantic enforces them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from pydantic.alias_generators import to_camel

from api.errors import (
    AppError,
    BadCursor,
    BadRequest,
    ContentTooLarge,
    IdempotencyKeyReused,
    InternalError,
    NotFound,
    PreconditionFailed,
    ServiceUnavailable,
    UnsupportedMediaType,
    ValidationFailed,
)
from api.http.models import RequestModel
from api.http.openapi import components, examples
from api.http.openapi.components import ref
from api.http.openapi.reference_page import FILE_NAME_PATTERN, SCALAR
from api.http.operations import (
    DOC,
    ID_PATTERN,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    PATCH,
    REPLAYED,
    Guard,
    OperationDoc,
    Parameter,
    SuccessResponse,
    guard_of,
    request_model_of,
)
from api.http.request import MERGE_PATCH
from api.http.responses import JSON

INFO = {
    "title": "Plugboard",
    "version": "0.1.0",
    "description": "Stores MCP servers and services for each workspace with encrypted credentials, and turns them into "
    "tools for agents.\n\nEvery response has an `X-Request-Id`. Every error is a problem document (RFC 9457) with a "
    "stable `code`. Later versions may have more fields in objects and more values in enumerations of responses: "
    "ignore fields that you do not know, and treat an unknown value as one that says nothing.",
}
API_KEY = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "pb_<public id>_<secret and checksum>",
    "description": "A key created by a workspace's admin, by an operator, or by `plugboard setup`.",
}
NO_CONTENT, SEE_OTHER, NOT_MODIFIED = 204, 303, 304
IDS = {
    "workspaceId": ("The workspace's id.", examples.WORKSPACE_ID),
    "serverId": ("The server's id.", examples.SERVER_ID),
    "agentId": ("The agent's id.", examples.AGENT_ID),
    "keyId": ("The API key's id, which is not the key itself.", examples.KEY_ID),
}
# Path parameters that are not ids: description, pattern and example.
OTHERS = {
    "serviceType": ("The service, or `external`.", "^[a-z][a-z0-9-]{0,31}$", "notion"),
    "issuer": ("Identifies one authorization server.", "^[0-9a-f]{32}$", "9f86d081884c7d659a2feaa0c55ad015"),
    "document": (
        "Identifies one authorization server.",
        "^[0-9a-f]{32}\\.json$",
        "9f86d081884c7d659a2feaa0c55ad015.json",
    ),
    "fileName": ("A script of the API reference.", FILE_NAME_PATTERN, SCALAR),
    "ticket": (
        "The ticket in the URL that `connectServer` returned.",
        "^[A-Za-z0-9_-]{43}$",
        "V2hvIGhvbGRzIHRoaXMgbWF5IGdvIG9uLCBvbmNlLiA",
    ),
}


@dataclass(frozen=True, slots=True)
class Operation:
    path: str
    method: str
    doc: OperationDoc
    guard: Guard | None
    body: type[RequestModel] | None

    @property
    def in_path(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def problems(self) -> dict[int, list[type[AppError]]]:
        by_status: dict[int, list[type[AppError]]] = {}
        for error in dict.fromkeys(_problems(self)):
            by_status.setdefault(error.status, []).append(error)
        return {status: by_status[status] for status in sorted(by_status)}


def build_contract(app: Litestar) -> dict[str, Any]:
    operations = sorted(_operations(app), key=lambda operation: (operation.path, operation.method))
    docs = [operation.doc for operation in operations]
    schemas = components.schemas(
        [operation.body for operation in operations if operation.body],
        [doc.reply.body for doc in docs if doc.reply.body],
    )
    # With its defaults, a draft stands where it is used: openapi-typescript takes a field with a default in a shared
    # schema as required.
    drafts = [operation.body for operation in operations if operation.body and operation.method == "post"]
    in_place = {draft: _untitled(schemas.pop(draft.__name__)) for draft in drafts}
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = _operation_entry(operation, in_place)
    problems = {
        components.problem_name(errors): errors for operation in operations for errors in operation.problems.values()
    }
    return {
        "openapi": "3.1.0",
        "info": INFO,
        "servers": [{"url": "/", "description": "The server that this document comes from."}],
        "tags": [{"name": tag} for tag in sorted({doc.tag for doc in docs})],
        "paths": paths,
        "components": {
            "securitySchemes": {"apiKey": API_KEY},
            "headers": components.HEADERS,
            "responses": {name: components.problem(problems[name]) for name in sorted(problems)},
            "schemas": schemas,
        },
    }


def as_yaml(document: Mapping[str, Any]) -> str:
    return yaml.dump(dict(document), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=110)


class _Plain(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # repeated examples are written in full
        return True


def _operations(app: Litestar) -> Iterator[Operation]:
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                if DOC in handler.opt:
                    yield from _operations_of(route, handler)


def _path(route: HTTPRoute) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: f"{{{to_camel(match[1])}}}", str(route.path_format))


def _operations_of(route: HTTPRoute, handler: HTTPRouteHandler) -> Iterator[Operation]:
    """One for each method, without HEAD, which every GET operation supports."""
    doc: OperationDoc = handler.opt[DOC]
    for method in sorted(handler.http_methods - {"HEAD"}):
        shown = replace(doc, id=doc.id.replace("update", "patch", 1)) if method == PATCH else doc
        yield Operation(_path(route), method.lower(), shown, guard_of(handler), request_model_of(handler))


def _operation_entry(operation: Operation, in_place: Mapping[type[RequestModel], dict[str, Any]]) -> dict[str, Any]:
    doc, guard = operation.doc, operation.guard
    entry: dict[str, Any] = {
        "operationId": doc.id,
        "tags": [doc.tag],
        "summary": doc.summary,
        "description": doc.description + (f"\n\nRequires {guard.requires}." if guard else ""),
        "security": [{"apiKey": []}] if guard and guard.problems else [],
    }
    parameters = [*map(_path_parameter, operation.in_path), *map(_parameter, doc.parameters)]
    if parameters:
        entry["parameters"] = parameters
    if operation.body:
        media_types = [JSON, MERGE_PATCH] if operation.method == PATCH.lower() else [JSON]
        schema = in_place.get(operation.body) or components.schema_of(operation.body)
        content = _content(schema, doc.example, *media_types)
        entry["requestBody"] = {"required": True, "content": content}
    refusals = {
        str(status): ref("responses", components.problem_name(errors)) for status, errors in operation.problems.items()
    }
    replays = IDEMPOTENCY_KEY in doc.parameters
    success = replace(doc.reply, headers=(*doc.reply.headers, REPLAYED)) if replays else doc.reply
    replies = {str(reply.status): _reply(reply) for reply in (success, doc.not_modified, doc.browser_error) if reply}
    return entry | {"responses": replies | refusals}


def _untitled(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Generators of clients then name the body after its operation."""
    return {name: value for name, value in schema.items() if name != "title"}


def _path_parameter(name: str) -> dict[str, Any]:
    description, pattern, example = OTHERS[name] if name in OTHERS else (IDS[name][0], ID_PATTERN, IDS[name][1])
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema} | {
        "example": example
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.where,
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }
    return entry if parameter.example is None else entry | {"example": parameter.example}


def _problems(operation: Operation) -> Iterable[type[AppError]]:
    """The problems of an operation, derived from its guard, parameters and body."""
    doc, guard = operation.doc, operation.guard
    yield from doc.problems
    if guard and guard.problems:
        yield from (*guard.problems, InternalError, ServiceUnavailable)
    if operation.in_path:
        yield NotFound
    if operation.body:
        yield from (BadRequest, ContentTooLarge, UnsupportedMediaType, ValidationFailed)
    names = {parameter.name for parameter in doc.parameters}
    if "cursor" in names:
        yield BadCursor
    if guard and guard.problems:  # for a query parameter that there is not
        yield ValidationFailed
    if IF_MATCH.name in names:
        yield PreconditionFailed
    if IDEMPOTENCY_KEY.name in names:
        yield IdempotencyKeyReused


def _reply(reply: SuccessResponse) -> dict[str, Any]:
    entry = {"description": reply.description, "headers": components.headers(reply.headers)}
    if reply.body:
        return entry | {"content": _content(components.schema_of(reply.body), reply.example)}
    if reply.status in (NO_CONTENT, SEE_OTHER, NOT_MODIFIED):
        return entry
    return entry | {"content": {reply.media_type: {"schema": {"type": "string"}}}}


def _content(schema: Mapping[str, Any], example: Any, *media_types: str) -> dict[str, Any]:
    return {media_type: {"schema": schema, "example": example} for media_type in media_types or (JSON,)}
