"""The short name of a server that its tools carry: plain, unique in the workspace, and stable."""

from __future__ import annotations

import re
from collections.abc import Iterator

from anyascii import anyascii

MAX_SLUG = 24
# Never a `_`: two names put together from slugs cannot run into each other. `server` would look like an id.
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


def numbered(slug: str) -> Iterator[str]:
    """The slug itself, then with the numbers from 2 on, always short enough."""
    yield slug
    number = 2
    while True:
        tail = f"-{number}"
        yield slug[: MAX_SLUG - len(tail)].rstrip("-") + tail
        number += 1
