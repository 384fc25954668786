"""Every way a request can fail: kinds with a status and a stable code, and their one renderer (RFC 9457).

AppError
├── BadRequest 400             the body or a header cannot be parsed
├── BadCursor 400              the cursor was not issued by Plugboard, or belongs to another list
├── Unauthorized 401           no key, or an invalid one
├── Forbidden 403              the key lacks the scope
├── NotFound 404               absent, or in another workspace: callers cannot tell the two apart
├── MethodNotAllowed 405
├── InUse, ConflictProblem 409 another object needs it; another object has it
├── TooManyRecords 409         there are as many objects of the kind as the operator allows
├── LastAdminKey 409           without it, no key could change the workspace's keys
├── NotConnectable 409         consent cannot be requested until something changes
├── PreconditionFailed 412     changed since it was read
├── ContentTooLarge 413
├── UriTooLong 414
├── UnsupportedMediaType 415
├── ValidationFailed, IdempotencyKeyReused 422  parsed, and not acceptable
├── InternalError 500          a defect of Plugboard
└── ServiceUnavailable 503     try again later
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec

PROBLEM_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class FieldError:
    path: str
    message: str


class AppError(Exception):
    status: ClassVar[int]
    code: ClassVar[str]
    title: ClassVar[str]

    def __init__(
        self, detail: str, *, errors: Sequence[FieldError] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})


class BadRequest(AppError):
    status, code, title = 400, "unreadable", "The request cannot be parsed"


class BadCursor(AppError):
    status, code, title = 400, "invalid_cursor", "The cursor is not valid"

    def __init__(self) -> None:
        super().__init__("Use the cursor exactly as in the `Link` header, for the same list, or omit it.")


class Unauthorized(AppError):
    status, code, title = 401, "unauthorized", "A valid API key is required"

    def __init__(
        self,
        detail: str = "The API key is unknown or was revoked. Send a valid one as `Authorization: Bearer <API key>`.",
    ) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(AppError):
    status, code, title = 403, "forbidden", "The API key does not allow this"


class NotFound(AppError):
    status, code, title = 404, "not_found", "The resource does not exist"

    def __init__(self, detail: str = "The resource does not exist, or this key cannot access it.") -> None:
        super().__init__(detail)


class MethodNotAllowed(AppError):
    status, code, title = 405, "method_not_allowed", "The method is not allowed"


class InUse(AppError):
    status, code, title = 409, "in_use", "The resource is in use"


class ConflictProblem(AppError):
    status, code, title = 409, "conflict", "The request conflicts with another object"


class TooManyRecords(AppError):
    status, code, title = 409, "limit_reached", "There are as many as are allowed"

    def __init__(self, count: int, noun: str, setting: str, *, in_all: bool = False) -> None:
        where = "The installation" if in_all else "The workspace"
        super().__init__(
            f"{where} has {count} {noun}, and no more are allowed. Delete what is not needed, or ask the operator to "
            f"raise the limit, `{setting}`."
        )


class LastAdminKey(AppError):
    status, code, title = 409, "last_admin_key", "The API key is the workspace's last admin key"

    def __init__(self) -> None:
        super().__init__(
            "The workspace has no other admin key that has not expired, and needs one to manage its API keys. Create "
            "another admin key first. To revoke this one all the same, add `?last=true`: then only the operator can "
            "create an admin key, with `plugboard setup --admin-key`."
        )


class NotConnectable(AppError):
    status, code, title = 409, "not_connectable", "The server cannot be connected"


class PreconditionFailed(AppError):
    status, code, title = 412, "stale", "The resource has changed since it was read"

    def __init__(self) -> None:
        super().__init__("Read it again, apply your change, and send its current ETag as `If-Match`.")


class ContentTooLarge(AppError):
    status, code, title = 413, "too_large", "The content is too large"


class UriTooLong(AppError):
    status, code, title = 414, "uri_too_long", "The URL is too long"


class UnsupportedMediaType(AppError):
    status, code, title = 415, "unsupported_media_type", "The body must be JSON"

    def __init__(self) -> None:
        super().__init__("Send JSON with the header `Content-Type: application/json`.")


class ValidationFailed(AppError):
    status, code, title = 422, "invalid", "The request is not valid"

    @classmethod
    def at(cls, path: str, message: str) -> ValidationFailed:
        return cls("See `errors` for what to change.", errors=[FieldError(path, message)])


class IdempotencyKeyReused(AppError):
    status, code, title = 422, "idempotency_key_reused", "The Idempotency-Key was used for another request"

    def __init__(self) -> None:
        super().__init__("For 24 hours a key identifies one request. Use a new key for a different request.")


class InternalError(AppError):
    status, code, title = 500, "internal", "Internal error"

    def __init__(self) -> None:
        super().__init__("The error was logged under the `X-Request-Id` of this response.")


class ServiceUnavailable(AppError):
    status, code, title = 503, "unavailable", "Temporarily unavailable"

    def __init__(self, detail: str = "Try again shortly.") -> None:
        super().__init__(detail, headers={"Retry-After": "1"})


class Problem(msgspec.Struct, omit_defaults=True):
    """The body of every error answer."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: tuple[FieldError, ...] = ()


_encode = msgspec.json.Encoder().encode


def problem_body(error: AppError) -> bytes:
    kind = f"urn:plugboard:problem:{error.code}"
    return _encode(Problem(kind, error.title, error.status, error.code, error.detail, error.errors))
