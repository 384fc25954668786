"""Ids: random, ordered by time of creation, and marked with their workspace.

`server_` + 4 characters derived from the workspace + 9 of time + 20 random (100 bits): at most 40 characters.
"""

from __future__ import annotations

import hashlib
import secrets

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: no look-alikes, fewer accidental words
RANDOM_LENGTH = 20
_TIME_LENGTH = 9
_MARK_LENGTH = 4


def random_text(length: int = RANDOM_LENGTH) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def new_id(prefix: str, workspace_id: str, now: float) -> str:
    return f"{prefix}_{workspace_mark(workspace_id)}{sortable_time(now)}{random_text()}"


def sortable_time(now: float) -> str:
    """Milliseconds as text that sorts like numbers."""
    number, digits = int(now * 1000), []
    for _ in range(_TIME_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def time_of(ordered: str) -> float:
    """The time in a text that begins with a result of `sortable_time`."""
    number = 0
    for digit in ordered[:_TIME_LENGTH]:
        number = number * len(ALPHABET) + ALPHABET.index(digit)
    return number / 1000


def workspace_mark(workspace_id: str) -> str:
    digest = hashlib.sha256(workspace_id.encode()).digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:_MARK_LENGTH])


def is_from_workspace(object_id: str, workspace_id: str) -> bool:
    """Whether the id may belong to this workspace, judged from the id alone."""
    return object_id.partition("_")[2].startswith(workspace_mark(workspace_id))


def id_pattern(prefix: str) -> str:
    return f"^{prefix}_[{ALPHABET}]{{{_MARK_LENGTH + _TIME_LENGTH + RANDOM_LENGTH}}}$"
