"""The memory that a compiled validator takes: an estimate, since the engine does not say.

Measured: fifty bytes for each byte of the schema at most, and as much as its patterns ask for. A pattern takes memory
for each repetition of each class of characters, so `\\S{300}` takes a megabyte.
"""

from __future__ import annotations

import re
from math import prod

VALIDATOR_BYTES = 12_000
TIMES_JSON = 50
PATTERN_BYTES = 20_000
LARGEST_PATTERN_BYTES = 2_000_000
_NARROW, _WIDE, _PROPERTY = 200, 4_000, 80_000
"""What one repetition takes: of ASCII characters, of others, of a Unicode property such as `\\p{L}`."""

_is_wide = re.compile(r"\.|\\[SDW]|\[\^|[^\x00-\x7f]").search
_is_property = re.compile(r"\\[pP]").search
_counts = re.compile(r"(\)?)\{([0-9]{1,6})(?:,([0-9]{0,6}))?\}").findall


def validator_size(schema: object, json_size: int) -> int:
    patterns = sum(map(pattern_size, _patterns(schema)))
    return VALIDATOR_BYTES + TIMES_JSON * json_size + patterns


def pattern_size(pattern: str) -> int:
    each = _PROPERTY if _is_property(pattern) else _WIDE if _is_wide(pattern) else _NARROW
    counts = [(bool(group), int(most or least)) for group, least, most in _counts(pattern)]
    repetitions = 1 + sum(count for is_group, count in counts if not is_group)
    repetitions *= prod(max(1, count) for is_group, count in counts if is_group)
    return min(PATTERN_BYTES + each * repetitions, LARGEST_PATTERN_BYTES)


def _patterns(schema: object) -> set[str]:
    """Not recursive: an upstream chooses the depth."""
    found, waiting = set[str](), [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
            pattern, properties = part.get("pattern"), part.get("patternProperties")
            found |= {pattern} if isinstance(pattern, str) else set()
            found |= set(properties) if isinstance(properties, dict) else set()
    return found
