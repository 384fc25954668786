"""The type of a decoded JSON object."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
