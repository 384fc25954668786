"""How many connections may a workspace be beginning? Each asks servers of its choice, for as long as those like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from api.errors import ServiceUnavailable

OF_ONE_WORKSPACE = 16


class ConsentStartLimit:
    """Of one process."""

    def __init__(self) -> None:
        self._of: Counter[str] = Counter()

    @contextmanager
    def enter(self, workspace_id: str) -> Iterator[None]:
        if self._of[workspace_id] >= OF_ONE_WORKSPACE:
            raise ServiceUnavailable("Too many connections are being begun at once. Try again when some have answered.")
        self._of[workspace_id] += 1
        try:
            yield
        finally:
            self._of[workspace_id] -= 1
            if not self._of[workspace_id]:
                del self._of[workspace_id]
