"""Records stored as items. Fields that a later version added are kept when this version writes a record back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Self

NOT_STORED: Mapping[str, bool] = {"stored": False}
"""Metadata of a field that is not stored, such as the version of its item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A stored dataclass, or a part of one.

    A field that is added later needs a default, because older records lack it.
    """

    PARSERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """Parsers of fields that JSON cannot represent directly; None stays None."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False, metadata=NOT_STORED)
    """Additional fields that a later version has stored."""

    @classmethod
    def decode(cls, data: Mapping[str, Any], **not_stored: Any) -> Self:
        values = dict(data)
        extra = {name: values.pop(name) for name in data.keys() - _stored_fields(cls)}
        for name, parse in cls.PARSERS.items():
            if values.get(name) is not None:
                values[name] = parse(values[name])
        return cls(**values, extra=extra, **not_stored)

    def encode(self) -> dict[str, Any]:
        values = ((name, getattr(self, name)) for name in _stored_fields(type(self)))
        return {**self.extra, **{name: _encode_value(value) for name, value in values}}


def _encode_value(value: object) -> object:
    return value.encode() if isinstance(value, Record) else value


def _read_stored_fields(record: Any) -> Mapping[str, None]:
    return {field.name: None for field in fields(record) if field.metadata.get("stored", True)}


_stored_fields: Callable[[Any], Mapping[str, None]] = cache(_read_stored_fields)
"""The names of a class's stored fields, in the order of their declaration."""
