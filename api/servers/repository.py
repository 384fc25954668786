"""Where servers are kept: the server, the claim of its slug, and which agents use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, TypeVar

from api.access.context import WorkspaceContext
from api.kit.storage.store import Always, Change, Delete, IfAbsent, IfVersion, Item, Key, Put, Store
from api.servers.slugs import numbered

SLUGS_AT_ONCE = 25
BY_CLIENT = "client_credentials"


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connection:
    """That somebody has consented, and to what, for people to see. The tokens are kept elsewhere, under `grant_id`."""

    grant_id: str
    connected_at: str
    asked: Sequence[str] = ()
    granted: Sequence[str] = ()
    wanted: Sequence[str] = ()
    """What tools have turned out to need beside."""

    account: Mapping[str, str] = field(default_factory=dict)
    ended: str | None = None
    """Why somebody has to connect again; None while the grant stands."""


@dataclass(frozen=True, slots=True)
class Server:
    id: str
    name: str
    slug: str
    description: str
    url: str | None
    auth_type: str
    service_type: str
    enabled: bool
    timeout_seconds: int
    exposure: str
    created_at: str
    updated_at: str
    sealed: Mapping[str, str] = field(default_factory=dict)
    oauth_grant: str = "authorization_code"
    connection: Connection | None = None
    version: int = 1

    @classmethod
    def of(cls, item: Item) -> Server:
        data = dict(item.data)
        connection = data.pop("connection", None)
        return cls(**data, connection=Connection(**connection) if connection else None, version=item.version)

    @property
    def is_connected(self) -> bool:
        """A client that asks in its own name needs nobody's consent."""
        if self.oauth_grant == BY_CLIENT:
            return "clientId" in self.sealed
        return self.connection is not None and self.connection.ended is None

    def data(self) -> dict[str, Any]:
        data = asdict(self)
        del data["version"]
        return data


def server_key(server_id: str) -> str:
    return f"SERVER#{server_id}"


def protocol_key(server_id: str) -> str:
    """How the server speaks, as was found out: it goes when the server goes."""
    return f"PROTOCOL#{server_id}"


def client_secret_use_key(server_id: str) -> str:
    """Whom its client's secret was shown to first: it goes when the server goes."""
    return f"FIRSTUSE#{server_id}"


class ServerRepository:
    """The servers of one workspace. There is no way to ask for another's."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._snapshot = ctx.snapshot
        self._partition = ctx.partition

    async def render_cached(self, server_id: str, show: Callable[[Server], T]) -> T | None:
        """As of the request's beginning, or later, in the form that `show` gives it: made once a revision."""
        return await self._snapshot.get_rendered(server_key(server_id), Server.of, show)

    async def get_many_cached(self, server_ids: Sequence[str]) -> dict[str, Server]:
        found = await self._snapshot.get_many_rendered([server_key(each) for each in server_ids], Server.of)
        return {server.id: server for server in found.values()}

    async def get(self, server_id: str) -> Server | None:
        """As stored this moment: to change."""
        item = await self._store.get(self._key(server_id))
        return Server.of(item) if item else None

    async def get_many(self, server_ids: Sequence[str]) -> list[Server]:
        found = await self._store.get_many([self._key(server_id) for server_id in server_ids])
        return [Server.of(item) for item in found.values()]

    async def page(self, limit: int, after: str | None) -> list[Server]:
        beyond = None if after is None else server_key(after)
        items = await self._store.query(self._partition, server_key(""), limit=limit, after=beyond)
        return [Server.of(item) for item in items]

    async def free_slug(self, wanted: str) -> str:
        candidates = numbered(wanted)
        while True:
            some = list(dict.fromkeys(islice(candidates, SLUGS_AT_ONCE)))
            taken = await self._store.get_many([self._claim(slug) for slug in some])
            free = [slug for slug in some if self._claim(slug) not in taken]
            if free:
                return free[0]

    def add(self, server: Server) -> list[Change]:
        return [Put(self._key(server.id), server.data(), IfAbsent()), self._claim_for(server)]

    def replace(self, old: Server, new: Server) -> list[Change]:
        changed: list[Change] = [Put(self._key(new.id), new.data(), IfVersion(old.version))]
        if new.slug != old.slug:
            changed += [Delete(self._claim(old.slug), Always()), self._claim_for(new)]
        return changed

    def remove(self, server: Server) -> list[Change]:
        return [
            Delete(self._key(server.id), IfVersion(server.version)),
            Delete(self._claim(server.slug), Always()),
            Delete(Key(self._partition, protocol_key(server.id)), Always()),
            Delete(Key(self._partition, client_secret_use_key(server.id)), Always()),
        ]

    def slug_key(self, slug: str) -> Key:
        return self._claim(slug)

    def _claim_for(self, server: Server) -> Change:
        return Put(self._claim(server.slug), {"server": server.id}, IfAbsent())

    def _claim(self, slug: str) -> Key:
        return Key(self._partition, f"SLUG#{slug}")

    def _key(self, server_id: str) -> Key:
        return Key(self._partition, server_key(server_id))
