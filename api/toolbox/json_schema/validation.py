"""Validation of arguments against a tool's schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs
import msgspec

from api.toolbox.json_schema.applied_schema import applied_schema
from api.toolbox.json_schema.compilation import compiled
from api.toolbox.json_schema.cost import Cost, CostCounter, TooCostly
from api.toolbox.json_schema.cost_bounds import CostBound
from api.toolbox.json_schema.error_messages import ArgumentErrorMessages
from api.toolbox.json_schema.patterns import Patterns, are_too_many, judge, patterns_in
from api.toolbox.json_schema.references import has_other_bases
from api.toolbox.output.json_size import JsonSize, measure

MAX_DEPTH = 64
MAX_VALUES = 100_000
MAX_COUNTED = 4_000
"""The maximum of values in arguments whose cost is counted exactly."""
MAX_NANOSECONDS = 20_000_000
"""Of one validation, and of one explanation: nothing else runs meanwhile."""
SCHEMA_SIZE = JsonSize(100, 4_000)
MAX_SCHEMA = 300_000
"""Of a schema, in characters."""
WITHOUT_PLACE = "The arguments do not fit the schema of the tool. They are too large to say where."
_DIGITS_AS_ZEROS = bytes.maketrans(b"123456789E", b"000000000e")


@dataclass(frozen=True, slots=True)
class Validator:
    """Validates arguments. A schema that is invalid or too costly accepts everything: no call fails because of it."""

    problem: str | None
    """Why nothing, or not all, is validated: a sentence for the log, without anything of the schema."""
    _compiled: jsonschema_rs.Validator | None = field(default=None, repr=False)
    _schema: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _patterns: Patterns = field(default_factory=lambda: judge([]), repr=False)
    _bound: CostBound | None = field(default=None, repr=False)

    @classmethod
    def of(cls, schema: object) -> Validator:
        if not isinstance(schema, dict):
            return cls(None if schema is None else "The schema is not an object.")
        if measure(schema, SCHEMA_SIZE) is None:
            return cls("The schema is too large or too deep.")
        if are_too_many(patterns := patterns_in(schema)):
            return cls("The schema has too many patterns, or too long ones.")
        if has_other_bases(schema):
            return cls("A schema within the schema has an id of its own.")
        return cls._compile(schema, judge(patterns))

    @classmethod
    def _compile(cls, schema: Mapping[str, Any], patterns: Patterns) -> Validator:
        try:
            applied = applied_schema(schema, patterns)
            checked = compiled(applied) if len(msgspec.json.encode(applied)) <= MAX_SCHEMA else None
        except (ValueError, RecursionError):  # ValidationError is a ValueError too
            return cls("The schema is invalid.")
        if checked is None:
            return cls("The schema takes too long to be compiled.")
        problem = None if applied is schema else "The schema has patterns or formats that cannot be applied."
        return cls(problem, checked, applied, patterns, CostCounter(applied, patterns.applied).bound())

    def check(self, args: object) -> list[str]:
        """Sentences that say what to change; empty if the arguments are valid."""
        if not isinstance(args, dict):
            return ["The arguments must be a JSON object."]
        return [] if self._is_clearly_valid(args) else self._problems(args)

    def _is_clearly_valid(self, args: dict[str, Any]) -> bool:
        """The fast check for most arguments: they are valid, and their encoded size bounds the cost."""
        if self._compiled is None or self._bound is None:
            return False
        try:
            encoded = msgspec.json.encode(args)
            if not _is_shallow(args, encoded) or not _is_affordable(self._bound, encoded):
                return False
            return self._compiled.is_valid(args)
        except (ValueError, TypeError, RecursionError):  # the slow path below has a text for it
            return False

    def _problems(self, args: dict[str, Any]) -> list[str]:
        size = measure(args, JsonSize(MAX_DEPTH, MAX_VALUES))
        if size is None:
            return [f"The arguments may be nested {MAX_DEPTH} levels deep and hold {MAX_VALUES} values; give less."]
        if self._compiled is None:
            return []
        try:
            return self._checked(args, size, self._compiled)
        except (ValueError, TypeError):
            return ["The arguments must be JSON: names are texts, and all text is Unicode."]

    def _checked(self, args: dict[str, Any], size: JsonSize, validator: jsonschema_rs.Validator) -> list[str]:
        cost = self._count(args, size)
        if cost is None or cost.validation > MAX_NANOSECONDS or validator.is_valid(args):
            return []
        messages = ArgumentErrorMessages(self._schema)
        if cost.errors <= MAX_NANOSECONDS:
            return messages.sentences(validator.iter_errors(args))
        if cost.first_error > MAX_NANOSECONDS:
            return [WITHOUT_PLACE]
        try:
            validator.validate(args)
        except jsonschema_rs.ValidationError as error:
            return messages.sentences(iter([error]))
        return []

    def _count(self, args: dict[str, Any], size: JsonSize) -> Cost | None:
        """None if it is too high to be counted."""
        if size.values > MAX_COUNTED:
            affordable = self._bound is not None and _is_affordable(self._bound, msgspec.json.encode(args))
            return Cost(0, 0, MAX_NANOSECONDS + 1, MAX_NANOSECONDS + 1) if affordable else None
        try:
            return CostCounter(self._schema, self._patterns.applied).of(args)
        except TooCostly:
            return None


def _is_shallow(args: dict[str, Any], encoded: bytes) -> bool:
    """Whether the arguments have few enough levels and values."""
    if encoded.count(b"{") + encoded.count(b"[") <= MAX_DEPTH and len(encoded) <= MAX_VALUES:
        return True
    return measure(args, JsonSize(MAX_DEPTH, MAX_VALUES)) is not None


def _is_affordable(bound: CostBound, encoded: bytes) -> bool:
    length = len(encoded)
    if (bound.per_odd_value + bound.per_character) * length <= MAX_NANOSECONDS:  # a value has at least one character
        return True
    values = 1 + encoded.count(b",") + encoded.count(b":") + encoded.count(b"[")  # at most
    per_value = bound.per_value
    if bound.per_odd_value > per_value and _may_have_odd_numbers(encoded):
        per_value = bound.per_odd_value
    return per_value * values + bound.per_character * length <= MAX_NANOSECONDS


def _may_have_odd_numbers(encoded: bytes) -> bool:
    """Whether it has anything like a number with an exponent, many digits or many zeros after the point."""
    alike = encoded.translate(_DIGITS_AS_ZEROS)
    return b"0e" in alike or b"0" * 16 in alike or b"0.00000" in encoded
