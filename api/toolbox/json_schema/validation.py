"""Validation of arguments against a tool's schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs
import msgspec

from api.toolbox.json_schema.cost import PATTERN_OPTIONS, ValidationCost, has_too_many_patterns
from api.toolbox.json_schema.error_messages import ArgumentErrorMessages
from api.toolbox.output.json_size import JsonSize, measure
from api.toolbox.output.sanitize import one_line

MAX_DEPTH = 64
MAX_VALUES = 100_000
MAX_PROBLEM = 200
MAX_WORDS = 20_000_000
_SCHEMA_EXTENT = JsonSize(100, 20_000)


@dataclass(frozen=True, slots=True)
class Validator:
    """Validates arguments. A schema that is invalid or too costly accepts everything: no call fails because of it."""

    problem: str | None
    """Why nothing is validated, for the log."""
    _compiled: jsonschema_rs.Validator | None = field(default=None, repr=False)
    _cost: ValidationCost | None = field(default=None, repr=False)
    _messages: ArgumentErrorMessages = field(default_factory=lambda: ArgumentErrorMessages({}), repr=False)

    @classmethod
    def of(cls, schema: object) -> Validator:
        if not isinstance(schema, dict):
            return cls(None if schema is None else "The schema is not an object.")
        if measure(schema, _SCHEMA_EXTENT) is None:
            return cls("The schema is too large or too deep.")
        if has_too_many_patterns(schema):
            return cls("The schema has too many patterns, or too long ones.")
        try:
            # In the draft that it names, or 2020-12; remote references are not fetched.
            compiled = jsonschema_rs.validator_cls_for(schema)(schema, offline=True, pattern_options=PATTERN_OPTIONS)
        except ValueError as error:  # ValidationError is one too
            return cls(one_line(str(error), MAX_PROBLEM))
        return cls(None, compiled, ValidationCost(schema), ArgumentErrorMessages(schema))

    def check(self, args: object) -> list[str]:
        """Sentences that say what to change; empty if the arguments are valid."""
        if not isinstance(args, dict):
            return ["The arguments must be a JSON object."]
        return [] if self._is_clearly_valid(args) else self._problems(args)

    def _is_clearly_valid(self, args: dict[str, Any]) -> bool:
        """The fast check for most arguments, which are valid and small: the encoded size bounds the cost."""
        if self._compiled is None or self._cost is None:
            return False
        try:
            encoded = msgspec.json.encode(args)
            depth, values = encoded.count(b"{") + encoded.count(b"["), len(encoded)  # at most
            if depth > MAX_DEPTH or values > MAX_VALUES or not self._cost.is_acceptable(depth, values):
                return False
            return self._compiled.is_valid(args)
        except (ValueError, TypeError, RecursionError):  # the slow path below has a text for it
            return False

    def _problems(self, args: dict[str, Any]) -> list[str]:
        size = measure(args, JsonSize(MAX_DEPTH, MAX_VALUES))
        if size is None:
            return [f"The arguments may be nested {MAX_DEPTH} levels deep and hold {MAX_VALUES} values; give less."]
        if self._compiled is None or self._cost is None or not self._cost.is_acceptable(*size):
            return []
        try:
            if self._cost.size * size.values > MAX_WORDS:  # each error repeats that part of the schema
                return self._first(args)
            return self._messages.sentences(self._compiled.iter_errors(args))
        except ValueError:
            return ["The arguments must be JSON: names are texts, and all text is Unicode."]

    def _first(self, args: dict[str, Any]) -> list[str]:
        if self._compiled is None:
            return []
        try:
            self._compiled.validate(args)
        except jsonschema_rs.ValidationError as error:
            return self._messages.sentences(iter([error]))
        return []
