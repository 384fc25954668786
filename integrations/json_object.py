"""The type of a decoded JSON object, and its numbers."""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

Json = dict[str, Any]


def finite_float(text: str) -> float:
    """A hook for a decoder that is slow with large exponents."""
    if not isfinite(number := float(text)):
        raise msgspec.DecodeError("Number out of range")
    return number
