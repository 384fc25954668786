"""Slugs: the short names of servers in tool names. They are plain, unique in the workspace, and stable."""

from __future__ import annotations

import re

from anyascii import anyascii

from api.kit.ids import random_text

MAX_SLUG = 24
# No `_`, so that tool names built from slugs stay distinct. `server` would look like an id.
SLUG_PATTERN = rf"^[a-z0-9-]{{1,{MAX_SLUG}}}$"
RESERVED = "server"
NOTHING_LEFT = "mcp"
SMALL_NUMBERS = 79
RANDOM = 5
RANDOM_LETTERS = 6
"""With a million of a billion taken, five at once are taken once in 10^15."""


def slug_of(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", anyascii(name).lower()).strip("-") or NOTHING_LEFT
    if is_reserved(plain):
        plain = f"{NOTHING_LEFT}-{plain}"
    return plain[:MAX_SLUG].rstrip("-")


def is_reserved(slug: str) -> bool:
    return slug == RESERVED or slug.startswith(f"{RESERVED}-")


def slug_candidates(slug: str) -> list[str]:
    """The slug itself and with small numbers from 2 on; then, however many others have those, with random letters."""
    small = [numbered(slug, str(number)) for number in range(2, SMALL_NUMBERS + 2)]
    return list(dict.fromkeys([slug, *small, *(numbered(slug, random_text(RANDOM_LETTERS)) for _ in range(RANDOM))]))


def numbered(slug: str, number: str) -> str:
    """The slug with a number, within the maximal length."""
    return slug[: MAX_SLUG - 1 - len(number)].rstrip("-") + f"-{number}"
