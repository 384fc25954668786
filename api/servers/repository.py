"""Stored servers, and the claims of their slugs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from api.access.context import WorkspaceContext
from api.kit.storage.store import PAGE_BYTES, Always, Change, Check, Delete, IfAbsent, IfVersion, Key, Put, Store
from api.servers.server import Server
from api.servers.slugs import slug_candidates

T = TypeVar("T")

AttachedKey = Callable[[str], str]
"""From a server's id, the sort key of a record that another feature attaches to it and that is deleted with it."""


def server_key(server_id: str) -> str:
    return f"SERVER#{server_id}"


class ServerRepository:
    """The servers of one workspace; it has no access to other workspaces."""

    def __init__(self, store: Store, ctx: WorkspaceContext, attached_keys: Sequence[AttachedKey] = ()) -> None:
        self._store = store
        self._attached_keys = attached_keys
        self._snapshot = ctx.snapshot
        self._partition = ctx.partition

    async def render_cached(self, server_id: str, show: Callable[[Server], T]) -> T | None:
        """The server rendered by `show`, at least as current as the request; cached per revision."""
        return await self._snapshot.get_rendered(server_key(server_id), Server.of, show)

    async def get_many_cached(self, server_ids: Sequence[str]) -> dict[str, Server]:
        servers = await self._snapshot.get_many_rendered([server_key(server_id) for server_id in server_ids], Server.of)
        return {server.id: server for server in servers.values()}

    async def get(self, server_id: str) -> Server | None:
        """The server as it is stored now, to be changed."""
        item = await self._store.get(self._key(server_id))
        return Server.of(item) if item else None

    async def get_many(self, server_ids: Sequence[str]) -> list[Server]:
        items = await self._store.get_many([self._key(server_id) for server_id in server_ids])
        return [Server.of(item) for item in items.values()]

    async def page(self, limit: int, after: str | None, *, newest_first: bool = False) -> list[Server]:
        start = None if after is None else server_key(after)
        items = await self._store.query(
            self._partition, server_key(""), limit=limit, after=start, newest_first=newest_first, max_bytes=PAGE_BYTES
        )
        return [Server.of(item) for item in items]

    async def ids_of_slugs(self, slugs: Sequence[str]) -> dict[str, str]:
        """The ids of the servers that have these slugs."""
        claims = {slug: self._claim(slug) for slug in slugs}
        items = await self._store.get_many(list(claims.values()))
        return {slug: items[claim].data["server"] for slug, claim in claims.items() if claim in items}

    async def free_slug(self, slug: str) -> str:
        """In one read. If all candidates are taken, the write of the last one meets a conflict, and is tried again."""
        candidates = slug_candidates(slug)
        taken = await self._store.get_many([self._claim(candidate) for candidate in candidates])
        return next((free for free in candidates if self._claim(free) not in taken), candidates[-1])

    def add(self, server: Server) -> list[Change]:
        return [Put(self._key(server.id), server.encode(), IfAbsent()), self._claim_for(server)]

    def replace(self, old: Server, new: Server) -> list[Change]:
        changed: list[Change] = [Put(self._key(new.id), new.encode(), IfVersion(old.stored_version))]
        if new.slug != old.slug:
            changed += [Delete(self._claim(old.slug), Always()), self._claim_for(new)]
        return changed

    def remove(self, server: Server) -> list[Change]:
        return [
            Delete(self._key(server.id), IfVersion(server.stored_version)),
            Delete(self._claim(server.slug), Always()),
            *(Delete(Key(self._partition, attached(server.id)), Always()) for attached in self._attached_keys),
        ]

    def unchanged(self, server: Server) -> Check:
        return Check(self._key(server.id), IfVersion(server.stored_version))

    def slug_key(self, slug: str) -> Key:
        return self._claim(slug)

    def _claim_for(self, server: Server) -> Change:
        return Put(self._claim(server.slug), {"server": server.id}, IfAbsent())

    def _claim(self, slug: str) -> Key:
        return Key(self._partition, f"SLUG#{slug}")

    def _key(self, server_id: str) -> Key:
        return Key(self._partition, server_key(server_id))
