"""Do these arguments fit the tool, and if not, what should be changed about them?"""

from __future__ import annotations

from dataclasses import dataclass, field

import jsonschema_rs

from api.toolbox.cleaning import one_line
from api.toolbox.effort import Effort, Extent, measured
from api.toolbox.mending import Mending

MAX_DEPTH = 64
MAX_VALUES = 100_000
MAX_PROBLEM = 200
_SCHEMA_EXTENT = Extent(100, 20_000)
# A pattern of the upstream's gets no time to speak of, and no memory.
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=20_000, size_limit=1_000_000)


@dataclass(frozen=True, slots=True)
class Validator:
    """Holds arguments to a schema. One that is wrong, or too much work, holds them to nothing: no call fails for it."""

    problem: str | None
    """Why nothing is validated, for the log."""
    _compiled: jsonschema_rs.Validator | None = field(default=None, repr=False)
    _effort: Effort | None = field(default=None, repr=False)
    _mending: Mending = field(default_factory=lambda: Mending({}), repr=False)

    @classmethod
    def of(cls, schema: object) -> Validator:
        if not isinstance(schema, dict):
            return cls(None if schema is None else "The schema is no object.")
        if measured(schema, _SCHEMA_EXTENT) is None:
            return cls("The schema is too large or too deep.")
        try:
            # The draft that it names, or else 2020-12; without any request, whatever it refers to.
            compiled = jsonschema_rs.validator_cls_for(schema)(schema, offline=True, pattern_options=_PATTERNS)
        except ValueError as error:  # a ValidationError is one too
            return cls(one_line(str(error), MAX_PROBLEM))
        return cls(None, compiled, Effort(schema), Mending(schema))

    def check(self, args: object) -> list[str]:
        """What to change, a sentence each; nothing where the arguments fit."""
        if not isinstance(args, dict):
            return ["The arguments must be a JSON object."]
        extent = measured(args, Extent(MAX_DEPTH, MAX_VALUES))
        if extent is None:
            return [f"The arguments may be nested {MAX_DEPTH} levels deep and hold {MAX_VALUES} values; give less."]
        if self._compiled is None or self._effort is None or not self._effort.is_bearable(extent):
            return []
        try:
            return self._mending.sentences(self._compiled.iter_errors(args))
        except ValueError:
            return ["The arguments must be JSON: names are texts, and all text is Unicode."]
