"""How are tries spread, so that those who failed together do not all come back together?"""

from __future__ import annotations

from random import Random

_ours = Random()  # noqa: S311  keeps no secret; its own, so that nobody else's numbers depend on when it is asked


def between(least: float, most: float) -> float:
    return _ours.uniform(least, most)


def share() -> float:
    """From 0 to 1."""
    return _ours.random()
