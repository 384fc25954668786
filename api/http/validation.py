"""Validation of request bodies, and the messages for invalid fields."""

from __future__ import annotations

from typing import Any, TypeVar

from litestar.config.app import AppConfig
from litestar.plugins import InitPlugin
from pydantic import ValidationError

from api.errors import FieldError, ValidationFailed
from api.http.field_messages import OBJECT, message_of
from api.http.models import RequestModel

MAX_NAME_LENGTH = 64
MAX_ERRORS = 20

InputType = TypeVar("InputType", bound=RequestModel)


class RequestModelPlugin(InitPlugin):
    """Decodes a handler's `data` parameter, ahead of Litestar's own decoder for pydantic models."""

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        app_config.type_decoders = [(_is_request_model, validate), *(app_config.type_decoders or [])]
        return app_config


def _is_request_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, RequestModel)


def validate(model: type[InputType], value: object) -> InputType:
    try:
        return model.__pydantic_validator__.validate_python(value)  # type: ignore[no-any-return]
    except ValidationError as error:
        raise invalid(model, error) from None


def invalid(model: type[RequestModel], error: ValidationError) -> ValidationFailed:
    details = error.errors(include_url=False)[:MAX_ERRORS]  # no message repeats an input
    errors = [FieldError(_path(detail["loc"]), _message(model, detail)) for detail in details]
    return ValidationFailed("See `errors` for what to change.", errors=errors)


def _path(location: tuple[int | str, ...]) -> str:
    """The path of a field, without overlong keys of callers, which may be secrets in the wrong place."""
    return ".".join("…" if len(str(step)) > MAX_NAME_LENGTH else str(step) for step in location)


def _message(model: type[RequestModel], error: Any) -> str:
    """With what is possible instead, where the field is a known slip."""
    slip = model.slips.get(_path(error["loc"]))
    match error["type"]:
        case "extra_forbidden" if slip is not None:
            return f"There is no such field. {slip}"
        case "dict_type" if slip is not None:
            return f"{OBJECT} {slip}"
        case _:
            return message_of(model, error)
