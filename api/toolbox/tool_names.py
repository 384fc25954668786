"""The names of tools for agents.

A name is accepted by every client and follows from slug and own name alone, so that it never changes with other
servers. An altered name ends with `__` and a hash of the original; an original that ends like that is altered too. So
an altered name is never the unaltered name of another tool.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Any

MAX_NAME = 64
NAME_PATTERN = r"^[A-Za-z0-9_-]{1,64}$"
PREFIX = "mcp_"
GENERIC_PREFIX = f"{PREFIX}server_"
_HASH_LENGTH = 8
_HASH_MARK = "__"
_LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_LEGAL = re.compile(r"[^A-Za-z0-9_-]")
_ENDS_WITH_A_HASH = re.compile(rf"{_HASH_MARK}[a-z2-7]{{{_HASH_LENGTH}}}\Z")
# Without `_`, so that it is plain where a slug ends; never like the beginning of an id, so that no tool's name can be
# that of a generic tool.
_SLUG = re.compile(r"(?!server(?:-|\Z))[a-z0-9-]{1,24}")
_SERVER_ID = re.compile(r"server_[a-z0-9_]+")


def tool_name(slug: str, upstream_name: str) -> str:
    """`mcp_<slug>_<tool>`, shortened or altered if clients would not accept it."""
    beginning = f"{PREFIX}{_require_slug(slug)}_"
    room = MAX_NAME - len(beginning)
    if _fits(upstream_name, room):
        return beginning + upstream_name
    ending = _HASH_MARK + _hash(upstream_name)
    return beginning + _NOT_LEGAL.sub("_", upstream_name)[: room - len(ending)] + ending


def is_altered(name: str) -> bool:
    return _ENDS_WITH_A_HASH.search(name) is not None


def generic_name(server_id: str) -> str:
    name = f"{PREFIX}{server_id}"
    if not _SERVER_ID.fullmatch(server_id) or len(name) > MAX_NAME:
        raise ValueError(f"not the id of a server: {server_id!r}")
    return name


def service_tool_name(base: str, slug: str) -> str:
    """`notion_read_acme` for `notion_read` of server `acme`. An invalid base is an error in a service's folder."""
    name = f"{base}_{_require_slug(slug)}"
    if not _LEGAL_NAME.fullmatch(name) or not base or f"{base}_".startswith(PREFIX):
        raise ValueError(f"no name for a service's tool: {name!r}")
    return name


def _require_slug(slug: str) -> str:
    if not _SLUG.fullmatch(slug):
        raise ValueError(f"not a slug: {slug!r}")
    return slug


def _fits(upstream_name: str, room: int) -> bool:
    legal = _LEGAL_NAME.fullmatch(upstream_name) and not _ENDS_WITH_A_HASH.search(upstream_name)
    return bool(legal) and len(upstream_name) <= room


def _hash(original: str) -> str:
    digest = hashlib.sha256(original.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest)[:_HASH_LENGTH].decode().lower()


class ToolNameRewriter:
    def __init__(self, names: Iterable[str]) -> None:
        one_of = "|".join(map(re.escape, names))
        self._bare = re.compile(rf"\b(?:{one_of})\b")
        self._quoted = re.compile(rf"(?<=`)(?:{one_of})(?=`)")

    def rewrite(self, text: str, slug: str, *, quoted: bool = False) -> str:
        """`quoted`: only between backticks, for texts that also contain data of the service."""
        mention = self._quoted if quoted else self._bare
        return mention.sub(lambda match: service_tool_name(match.group(), slug), text)

    def rewrite_in(self, schema: Any, slug: str) -> Any:
        """Rewrite the names in every text of a schema."""
        match schema:
            case str():
                return self.rewrite(schema, slug)
            case dict():
                return {name: self.rewrite_in(value, slug) for name, value in schema.items()}
            case list():
                return [self.rewrite_in(subschema, slug) for subschema in schema]
            case _:
                return schema
