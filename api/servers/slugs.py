"""Slugs: the short names of servers in tool names. They are plain, unique in the workspace, and stable."""

from __future__ import annotations

import re
from collections.abc import Iterator

from anyascii import anyascii

MAX_SLUG = 24
# No `_`, so that tool names built from slugs stay distinct. `server` would look like an id.
SLUG_PATTERN = rf"^[a-z0-9-]{{1,{MAX_SLUG}}}$"
RESERVED = "server"
NOTHING_LEFT = "mcp"


def slug_of(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", anyascii(name).lower()).strip("-") or NOTHING_LEFT
    if is_reserved(plain):
        plain = f"{NOTHING_LEFT}-{plain}"
    return plain[:MAX_SLUG].rstrip("-")


def is_reserved(slug: str) -> bool:
    return slug == RESERVED or slug.startswith(f"{RESERVED}-")


def slug_candidates(slug: str) -> Iterator[str]:
    """The slug itself, then the slug with the numbers from 2 on, all within the maximal length."""
    yield slug
    number = 2
    while True:
        tail = f"-{number}"
        yield slug[: MAX_SLUG - len(tail)].rstrip("-") + tail
        number += 1
