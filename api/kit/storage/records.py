"""Records as items: fields that a later version added survive being read and written back by this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Self

NOT_STORED: Mapping[str, bool] = {"stored": False}
"""Metadata of a field that is no part of the stored data, such as the version of its item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A stored dataclass, or a part of one.

    A field that is added later needs a default, because older records lack it.
    """

    PARSERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """How fields are read that JSON cannot hold as they are. None is read as None."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False, metadata=NOT_STORED)
    """What a later version has stored beside the fields of this one."""

    @classmethod
    def decode(cls, data: Mapping[str, Any], **not_stored: Any) -> Self:
        known = dict(data)
        extra = {name: known.pop(name) for name in data.keys() - _stored_fields(cls)}
        for name, parse in cls.PARSERS.items():
            if known.get(name) is not None:
                known[name] = parse(known[name])
        return cls(**known, extra=extra, **not_stored)

    def encode(self) -> dict[str, Any]:
        values = ((name, getattr(self, name)) for name in _stored_fields(type(self)))
        return {**self.extra, **{name: _encoded(value) for name, value in values}}


def _encoded(value: object) -> object:
    return value.encode() if isinstance(value, Record) else value


def _read_stored_fields(record: Any) -> Mapping[str, None]:
    return {field.name: None for field in fields(record) if field.metadata.get("stored", True)}


_stored_fields: Callable[[Any], Mapping[str, None]] = cache(_read_stored_fields)
"""The names of a class's stored fields, in the order of their declaration."""
