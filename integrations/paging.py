"""Other names that models use for the paging parameters of a list: cursor and page size."""

from __future__ import annotations

from collections.abc import Mapping

from integrations.argument_coercion import plain_name

CURSORS = ("cursor", "nextcursor", "startcursor", "endcursor", "pagetoken", "after")
OFFSETS = ("offset", "nextoffset", "skip")
SIZES = ("limit", "first", "count", "size", "pagesize", "perpage", "max", "maxresults")


def paging_aliases(*, cursor: str | None = None, size: str | None = None, counts: bool = False) -> Mapping[str, str]:
    """Aliases for the parameters of these names. `counts`: the cursor is the number of items before the page."""
    aliases = dict[str, str]()
    if cursor:
        aliases |= dict.fromkeys((*CURSORS, *OFFSETS) if counts else CURSORS, cursor)
    if size:
        aliases |= dict.fromkeys(SIZES, size)
    return {alias: name for alias, name in aliases.items() if alias != plain_name(name)}
