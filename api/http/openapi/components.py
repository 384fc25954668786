"""The components of the OpenAPI document: schemas, problems and headers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from api.errors import (
    PROBLEM_TYPE,
    AppError,
    BadCursor,
    BadRequest,
    ConflictProblem,
    ContentTooLarge,
    FieldError,
    Forbidden,
    IdempotencyKeyReused,
    InternalError,
    InUse,
    LastAdminKey,
    MethodNotAllowed,
    NotConnectable,
    NotFound,
    PreconditionFailed,
    ServiceUnavailable,
    TooManyRecords,
    Unauthorized,
    UnsupportedMediaType,
    UriTooLong,
    ValidationFailed,
    problem_body,
)
from api.http.operations import REPLAYED

REQUEST_ID = "X-Request-Id"
HEADERS: dict[str, Any] = {
    REQUEST_ID: {
        "description": "The request's id in the server's log. A client's own id is kept if it has 8 to 64 letters, "
        "digits, dots, underscores or hyphens.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{8,64}$"},
    },
    "ETag": {
        "description": "The object's version; send it as `If-Match`.",
        "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
    },
    "Location": {
        "description": "The URL of the new object, or of the page that the browser opens next.",
        "schema": {"type": "string", "format": "uri-reference"},
    },
    "Set-Cookie": {
        "description": "Cookie that binds the OAuth callback to this browser.",
        "schema": {"type": "string"},
    },
    "Link": {"description": 'The next page, if there is one: `<…>; rel="next"`.', "schema": {"type": "string"}},
    REPLAYED: {
        "description": "`true` if this is the stored response to an earlier request with the same `Idempotency-Key`. "
        "Otherwise the header is missing.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
    "WWW-Authenticate": {"description": "The authentication scheme.", "schema": {"type": "string"}},
}
# One example of each problem.
PROBLEMS: dict[type[AppError], AppError] = {
    type(error): error
    for error in (
        BadRequest("The body is not JSON: line 1, column 2."),
        BadCursor(),
        Unauthorized(),
        Forbidden("This needs a key with scope `manage`; this key has `read`."),
        NotFound(),
        InUse(
            "Enabled by agent_kzq91m7q1jnbva15eaqkk7edxe7e52wcn. Disable it there first, or delete with `?detach=true`."
        ),
        ConflictProblem("Another server of this workspace has the slug `weather-api`."),
        LastAdminKey(),
        TooManyRecords(2000, "MCP servers", "PLUGBOARD_MAX_SERVERS"),
        NotConnectable("This server does not use OAuth: its credentials are entered in `config`."),
        PreconditionFailed(),
        ContentTooLarge("A body may have at most 1048576 bytes."),
        UnsupportedMediaType(),
        ValidationFailed("See `errors` for what to change.", errors=[FieldError("name", "This field is required.")]),
        IdempotencyKeyReused(),
        InternalError(),
        ServiceUnavailable(),
    )
}
KINDS: Sequence[type[AppError]] = (*PROBLEMS, MethodNotAllowed, UriTooLong)  # 405 and 414 belong to no operation
COMMON_FIELDS = {
    "id": "The object's id, made by Plugboard.",
    "name": "A display name, in any script.",
    "createdAt": "When it was created.",
    "updatedAt": "When it was last changed.",
    "version": "The number of the version, which is the `ETag` too. It grows with each change.",
}
"""By name, the descriptions of fields that say nothing else about themselves."""
PROBLEM = {
    "title": "Problem",
    "type": "object",
    "description": "What is wrong and what to do about it (RFC 9457).",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string", "format": "uri", "description": "`urn:plugboard:problem:` followed by the code."},
        "title": {"type": "string", "description": "The same for every problem with this code."},
        "status": {"type": "integer", "minimum": 400, "maximum": 599, "description": "The HTTP status."},
        "code": {
            "type": "string",
            "enum": sorted(error.code for error in KINDS),
            "description": "Stable: programs can rely on it. Later versions may have more codes.",
        },
        "detail": {"type": "string", "description": "What to do, in plain English."},
        "errors": {
            "type": "array",
            "description": "For invalid input: the fields that are wrong.",
            "items": {
                "type": "object",
                "required": ["path", "message"],
                "properties": {
                    "path": {
                        "type": "string",
                        "description": "The field, such as `config.headerValue`; empty for the whole body.",
                    },
                    "message": {"type": "string", "description": "What must be there instead."},
                },
            },
        },
    },
}


def ref(section: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{section}/{name}"}


def headers(names: Iterable[str]) -> dict[str, Any]:
    return {name: ref("headers", name) for name in (*names, REQUEST_ID)}


def problem_name(errors: Sequence[type[AppError]]) -> str:
    return "Or".join(error.__name__ for error in errors)


def problem(errors: Sequence[type[AppError]]) -> dict[str, Any]:
    """The response of one status, which may cover several problems."""
    examples = [PROBLEMS[error] for error in errors]
    header_names = sorted({name for example in examples for name in example.headers})
    return {
        "description": "; ".join(f"{error.title} (`{error.code}`)" for error in errors) + ".",
        "headers": headers(header_names),
        "content": {
            PROBLEM_TYPE: {
                "schema": ref("schemas", "Problem"),
                "examples": {example.code: {"value": json.loads(problem_body(example))} for example in examples},
            }
        },
    }


def schemas(inputs: Iterable[type[Any]], outputs: Iterable[TypeAdapter[Any]]) -> dict[str, Any]:
    """The schemas of the models, exactly as pydantic enforces them."""
    models = [(model, "validation") for model in inputs]
    models += [(_model(kind), "serialization") for kind in outputs]
    _, definitions = models_json_schema(list(dict.fromkeys(models)), ref_template="{model}")  # type: ignore[arg-type]
    by_name = {
        _public(name): _tidy(schema) | {"title": _public(name)} for name, schema in definitions.get("$defs", {}).items()
    }
    return {**dict(sorted(by_name.items())), "Problem": PROBLEM}


def schema_of(kind: TypeAdapter[Any] | type[Any]) -> dict[str, Any]:
    """A model is a reference; a list of models is an array of references."""
    reference = ref("schemas", _public(_model(kind).__name__))
    is_list = isinstance(kind, TypeAdapter) and _model(kind) is not _type(kind)
    return {"type": "array", "items": reference} if is_list else reference


def _model(kind: TypeAdapter[Any] | type[Any]) -> Any:
    target_type = _type(kind)
    return getattr(target_type, "__args__", (target_type,))[0]


def _type(kind: TypeAdapter[Any] | type[Any]) -> Any:
    return kind._type if isinstance(kind, TypeAdapter) else kind  # noqa: SLF001  # the adapter's type


def _public(name: str) -> str:
    return name.removesuffix("View")


def _tidy(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without titles that repeat names, and without defaults that only mean `absent`."""
    tidy = {name: _tidy_value(name, value) for name, value in schema.items() if name != "title"}
    if isinstance(tidy.get("default", ""), dict | None):
        del tidy["default"]
    return _nullable(_with_named_keys(_described(tidy)))


def _tidy_value(name: str, value: Any) -> Any:
    match name, value:
        case "$ref", str():
            return ref("schemas", _public(value))["$ref"]
        case (("properties" | "$defs"), dict()):
            return {name: _tidy(schema) for name, schema in value.items()}
        case (("default" | "const" | "enum" | "examples"), _):
            return value
        case _, dict():
            return _tidy(value)
        case _, list():
            return [_tidy(item) if isinstance(item, dict) else item for item in value]
        case _:
            return value


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """With the descriptions of fields that many objects have."""
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return schema
    common = {name: {"description": COMMON_FIELDS[name]} for name in fields.keys() & COMMON_FIELDS.keys()}
    return {**schema, "properties": {name: common.get(name, {}) | field for name, field in fields.items()}}


def _with_named_keys(schema: dict[str, Any]) -> dict[str, Any]:
    """`patternProperties` allows all other keys; here every key has to match."""
    match schema:
        case {"patternProperties": {**only}, **others} if len(only) == 1:
            ((pattern, value),) = only.items()
            names = {**others.get("propertyNames", {}), "pattern": pattern}
            return {**others, "propertyNames": names, "additionalProperties": value}
        case _:
            return schema


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """`anyOf` of a plain type and null becomes a type with two names."""
    match schema:
        case {"anyOf": [{"type": str(kind)} as plain, {"type": "null"}], **others} if not plain.keys() & others.keys():
            return {**others, **plain, "type": [kind, "null"]}
        case _:
            return schema
