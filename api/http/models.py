"""The base models of request and response bodies, in JSON's camelCase."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema


class RequestModel(BaseModel):
    """A request body: unknown fields and conversions are refused, and errors do not repeat the input."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )
    slips: ClassVar[Mapping[str, str]] = {}
    """By path, what to write instead of a field that does not exist, or of one that is no object."""


class ResponseModel(BaseModel):
    """A response body. Its fields are the only ones of an object that callers see."""

    computed: ClassVar[frozenset[str]] = frozenset()
    """The JSON names of lists of texts that do not depend on the object alone. Any such list may be sent back."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


def _describe_change(schema: dict[str, Any], change: Any) -> None:
    """A change has no defaults, and has the read-only fields of the object."""
    for field_schema in schema["properties"].values():
        field_schema.pop("default", None)
    shown = change.view().model_json_schema(mode="serialization")["properties"]
    for name in sorted(read_only_fields(change)):
        schema["properties"][name] = {key: shown[name][key] for key in _PLAIN if key in shown[name]} | {
            "readOnly": True
        }


_PLAIN = ("type", "description", "format", "pattern", "anyOf", "items", "enum")
"""The keywords that a read-only field keeps. Others would refer to definitions of the view."""


class PatchModel(RequestModel):
    """A body with any subset of the fields; `model_fields_set` names the fields in the request.

    It may have the object's read-only fields too, so that what was read can be sent back.
    """

    model_config = ConfigDict(json_schema_extra=_describe_change)
    _sent_back: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def view(cls) -> type[ResponseModel]:
        """The object as it is shown. Its fields that this body cannot change are read-only."""
        raise NotImplementedError

    @property
    def sent_back(self) -> Mapping[str, Any]:
        """The read-only fields in the request, by their JSON names."""
        return self._sent_back

    def set_fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}

    @model_validator(mode="wrap")
    @classmethod
    def _separate_read_only(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(value, dict):
            return handler(value)
        names = read_only_fields(cls)
        change = handler({name: item for name, item in value.items() if name not in names})
        change._sent_back = {name: value[name] for name in names if name in value}  # noqa: SLF001  # its own
        return change


@cache
def read_only_fields(change: type[PatchModel]) -> frozenset[str]:
    """By their JSON names."""
    changeable = change.model_fields.keys()
    return frozenset(to_camel(name) for name in change.view().model_fields.keys() - changeable)


# The error message for text that does not match a pattern.
PATTERN_MESSAGES: dict[str, str] = {}


def pattern_with_message(
    pattern: str, message: str, *, min_length: int | None = None, max_length: int | None = None
) -> StringConstraints:
    """A pattern with its own error message."""
    PATTERN_MESSAGES[pattern] = message
    return StringConstraints(pattern=pattern, min_length=min_length, max_length=max_length)


@dataclass(frozen=True)
class AtMost:
    """The maximum length of a list or an object. It is checked first: each entry could have an error of its own."""

    length: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = {**handler(source), "max_length": self.length}
        return core_schema.no_info_before_validator_function(self._check, cast("CoreSchema", schema))

    def _check(self, value: object) -> object:
        if isinstance(value, list | dict) and len(value) > self.length:
            kind = type(value).__name__.title()
            context = {"field_type": kind, "max_length": self.length, "actual_length": len(value)}
            raise PydanticKnownError("too_long", context)
        return value


# One line of text with at least one visible character.
LINE = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"
DIRECTION_MARK = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def _refuse_direction_marks(text: str) -> str:
    """Others read the name, and would see another text than it is."""
    if mark := DIRECTION_MARK.search(text):
        code = f"{ord(mark[0]):04X}"
        raise PydanticCustomError("direction_mark", "Remove the invisible direction mark U+{code}.", {"code": code})
    return text


Name = Annotated[
    str,
    pattern_with_message(
        LINE, "Must be one line of text with at least one visible character.", min_length=1, max_length=100
    ),
    AfterValidator(_refuse_direction_marks),
]
# Text of several lines: tabs and line breaks, but no other control characters.
Prose = Annotated[
    str, pattern_with_message(r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$", "Must be text without control characters.")
]
Timestamp = Annotated[
    str,
    StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"),
    Field(json_schema_extra={"format": "date-time"}),
]
