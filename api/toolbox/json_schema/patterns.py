"""Is this a regular expression that everybody reads alike, and how much work may the expressions of a schema be?

To compile one of an upstream's can take milliseconds, in which nothing else happens.
"""

from __future__ import annotations

from functools import lru_cache

import jsonschema_rs

LONGEST = 1000
MOST = 50
"""Different ones in one schema."""
# A pattern of the upstream's gets no time to speak of, and no memory.
OPTIONS = jsonschema_rs.FancyRegexOptions(backtrack_limit=20_000, size_limit=1_000_000)


@lru_cache(4096)
def is_pattern(text: str) -> bool:
    if len(text) > LONGEST:
        return False
    try:
        jsonschema_rs.Draft202012Validator({"pattern": text}, offline=True, pattern_options=OPTIONS)
    except ValueError:
        return False
    return True


def are_too_many(schema: object) -> bool:
    """Without recursion: the depth is somebody else's choice."""
    waiting, seen = [schema], set[str]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            seen |= _in(value)
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return len(seen) > MOST or any(len(each) > LONGEST for each in seen)


def _in(schema: dict[str, object]) -> set[str]:
    one, several = schema.get("pattern"), schema.get("patternProperties")
    return {*([one] if isinstance(one, str) else []), *(several if isinstance(several, dict) else [])}
