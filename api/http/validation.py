"""Validation of request bodies, and the messages for invalid fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from litestar.config.app import AppConfig
from litestar.plugins import InitPlugin
from pydantic import ValidationError

from api.errors import FieldError, ValidationFailed
from api.http.models import PATTERN_MESSAGES, RequestModel

MAX_NAME_LENGTH = 64
MAX_ERRORS = 20
NO_SLIPS: Mapping[str, str] = {}

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
        raise invalid(error, model.slips) from None


def invalid(error: ValidationError, slips: Mapping[str, str] = NO_SLIPS) -> ValidationFailed:
    details = error.errors(include_input=False, include_url=False)[:MAX_ERRORS]
    errors = [FieldError(_path(detail["loc"]), _message(detail, slips)) for detail in details]
    return ValidationFailed("See `errors` for what to change.", errors=errors)


def _path(location: tuple[int | str, ...]) -> str:
    """The path of a field, without overlong keys of callers, which may be secrets in the wrong place."""
    return ".".join("…" if len(str(step)) > MAX_NAME_LENGTH else str(step) for step in location)


_MESSAGES = {
    "extra_forbidden": "There is no such field.",
    "missing": "This field is required.",
    "model_type": "Must be a JSON object.",
    "model_attributes_type": "Must be a JSON object.",
    "dict_type": "Must be a JSON object.",
    "too_long": "This is too long.",
    "too_short": "This is too short.",
}


_SLIPS = ("extra_forbidden", "dict_type")


def _message(error: Any, slips: Mapping[str, str]) -> str:
    slip = slips.get(_path(error["loc"])) if error["type"] in _SLIPS else None
    if slip is not None:
        return f"{_MESSAGES[error['type']]} {slip}"
    message = _MESSAGES.get(error["type"]) or PATTERN_MESSAGES.get(error.get("ctx", {}).get("pattern"))
    return message or str(error["msg"]).removeprefix("Value error, ")
