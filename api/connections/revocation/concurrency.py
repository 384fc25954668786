"""Which revocation may begin: so many at once, and of these a few at one host and some of one workspace."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

AT_ONCE, AT_ONE_HOST, OF_ONE_WORKSPACE = 64, 4, 16
"""Who is slow, or has very many, holds up none but its own."""

Turn = tuple[str, str]
"""A workspace and a host."""


class RevocationConcurrency:
    def __init__(self) -> None:
        self._of: Counter[str] = Counter()
        self._at: Counter[str] = Counter()

    @property
    def are_all_taken(self) -> bool:
        return self._of.total() >= AT_ONCE

    def take(self, turn: Turn) -> bool:
        workspace, host = turn
        if self.are_all_taken or self._at[host] >= AT_ONE_HOST or self._of[workspace] >= OF_ONE_WORKSPACE:
            return False
        self._of[workspace] += 1
        self._at[host] += 1
        return True

    def give_back(self, turn: Turn) -> None:
        workspace, host = turn
        self._of[workspace] -= 1
        self._at[host] -= 1
        self._of, self._at = +self._of, +self._at  # without those that have none


def host_of(url: str) -> str:
    """However it is written, and whatever its port. `ValueError` where it is no URL."""
    return (urlsplit(url).hostname or "").rstrip(".")
