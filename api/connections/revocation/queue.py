"""The durable queue of tokens to revoke at authorization servers. Jobs survive outages and restarts.

Secrets are sealed with the installation's own key, because their workspace may be deleted before they are revoked.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import Any

import msgspec

from api.access.context import WorkspaceContext
from api.access.peppers import SYSTEM
from api.connections.dependencies import AuthServerHttpFactory
from api.connections.repository import Grant, OAuthClientRef
from api.connections.revocation.concurrency import RevocationConcurrency, Turn, host_of
from api.kit.backoff import between
from api.kit.clock import Clock
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Sealed, SecretLocation, Vault
from api.kit.storage.store import Always, Change, Conflict, Delete, IfVersion, Item, Key, Put, Store, StoreUnavailable
from api.servers.service import Server
from integrations import AuthorizationServer, GrantRefused, GrantUnavailable, OAuthClient, revoke

PREFIX, TOKENS = "OUTBOX#", "tokens"
PAGE = 25
EVERY_SECONDS = CLAIM_SECONDS = 60.0
PAUSE_BY_READING = 10
"""So many times as long as it took to read all entries, they are not read again: there may be very many."""
FIRST_WAIT, LONGEST_WAIT = 30.0, 6 * 3600.0
KEPT_SECONDS = 7 * 24 * 3600.0
LEAVING_SECONDS = 900.0
"""A workspace that is still there so long after it was to go is not going."""

IsThere = Callable[[str], Awaitable[bool]]
"""Whether there is such a workspace."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RevocationSecrets:
    """What is to be of no use any more, and with what to say so."""

    access: str | None = field(default=None, repr=False)
    refresh: str | None = field(default=None, repr=False)
    client_secret: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RevocationJob:
    workspace_id: str
    """Whose it was: for whom names are looked up and connections made."""

    service_type: str
    provider: Mapping[str, Any]
    client: OAuthClientRef
    since: float
    due: float
    tries: int = 0
    unless_there: str | None = None
    """A workspace that is about to go: as long as it is there, nothing is revoked."""

    sealed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, item: Item) -> RevocationJob:
        """`ValueError` where it is none, as after a return to an older version."""
        if unknown := item.data.keys() - {each.name for each in fields(cls)}:
            raise ValueError(f"an entry with {', '.join(sorted(unknown))}")
        return msgspec.convert(item.data, cls)

    @property
    def turn(self) -> Turn:
        revocation = self.provider.get("revocation") or {}
        return self.workspace_id, host_of(str(revocation.get("url", "")))


class RevocationQueue:
    """One for each process; they share the entries, and each entry is worked on by one at a time."""

    def __init__(
        self,
        store: Store,
        vault: Vault,
        lines: AuthServerHttpFactory,
        apps: Mapping[str, OAuthClient],
        clock: Clock,
        is_there: IsThere,
    ) -> None:
        self._store = store
        self._vault = vault
        self._lines = lines
        self._apps = apps
        self._clock = clock
        self._is_there = is_there
        self._awake = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._turns = RevocationConcurrency()
        self._some_wait = False
        self._unreadable: set[str] = set()

    async def job_change(
        self,
        ctx: WorkspaceContext,
        server: Server,
        grant: Grant,
        revoked: RevocationSecrets,
        client: OAuthClient | None,
        *,
        unless_there: bool = False,
    ) -> list[Change]:
        """What to write. Where the vendor's app is the client, its secret is looked up when it is needed."""
        key = Key(SYSTEM, f"{PREFIX}{grant.id}-{'leaving' if unless_there else secrets.token_hex(4)}")
        if client and grant.client.kind != "service":
            revoked = replace(revoked, client_secret=client.secret, private_key=client.private_key)
        sealing = await self._vault.sealer(SYSTEM)
        sealed = sealing.seal(SecretLocation(key.sk, TOKENS), Secret(msgspec.json.encode(asdict(revoked))))
        now = self._clock.now()
        entry = RevocationJob(
            ctx.workspace_id,
            server.service_type,
            grant.provider,
            grant.client,
            since=now,
            due=now,
            unless_there=ctx.workspace_id if unless_there else None,
            sealed={TOKENS: sealed.text},
        )
        return [Put(key, asdict(entry), Always()), sealing.guard]

    async def keep(self, changes: Sequence[Change]) -> None:
        if changes:
            await self._store.write(*changes)

    async def put(
        self,
        ctx: WorkspaceContext,
        server: Server,
        grant: Grant,
        revoked: RevocationSecrets,
        client: OAuthClient | None,
    ) -> None:
        if grant.provider.get("revocation"):
            await self._store.write(*await self.job_change(ctx, server, grant, revoked, client))
            self.wake()

    def begin(self) -> None:
        self._awake.set()
        self._worker = asyncio.create_task(self._work())

    def wake(self) -> None:
        self._awake.set()

    async def close(self) -> None:
        """What is under way is broken off: it is still there when somebody starts again."""
        tasks = [*self._busy.values(), *([self._worker] if self._worker else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def work_off(self) -> None:
        """What is due now, to its end."""
        while await self._begin_due() or self._busy:
            await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _work(self) -> None:
        """Nothing is waited for but news: whose provider is slow holds up nobody."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_SECONDS * between(0.8, 1.2)):
                    await self._awake.wait()
            self._awake.clear()
            begun = self._clock.monotonic()
            try:
                await self._begin_due()
            except StoreUnavailable as error:
                _tell(error)
            await asyncio.sleep(PAUSE_BY_READING * (self._clock.monotonic() - begun))

    async def _begin_due(self) -> bool:
        """Whether anything was begun. What finds no place is begun when one is free."""
        after, begun = None, 0
        while not self._is_full() and (items := await self._store.query(SYSTEM, PREFIX, limit=PAGE, after=after)):
            begun += sum(map(self._begin, items))
            after = items[-1].key.sk
        return begun > 0

    def _begin(self, item: Item) -> bool:
        sk = item.key.sk
        try:
            entry = RevocationJob.of(item)
            turn = entry.turn
        except ValueError as error:
            if sk not in self._unreadable:
                _tell(error)
            self._unreadable.add(sk)
            return False
        if entry.due > self._clock.now() or sk in self._busy:
            return False
        if not self._turns.take(turn):
            self._some_wait = True
            return False
        self._busy[sk] = task = asyncio.create_task(self._work_on(item, entry))
        task.add_done_callback(partial(self._ended, sk, turn))
        return True

    def _is_full(self) -> bool:
        """What comes after it waits."""
        self._some_wait = self._some_wait or self._turns.are_all_taken
        return self._turns.are_all_taken

    def _ended(self, sk: str, turn: Turn, task: asyncio.Task[None]) -> None:
        del self._busy[sk]
        self._turns.give_back(turn)
        if not task.cancelled() and (error := task.exception()):
            _tell(error)
        if self._some_wait:
            self._some_wait = False
            self._awake.set()

    async def _work_on(self, item: Item, entry: RevocationJob) -> None:
        claimed = Put(item.key, asdict(replace(entry, due=self._clock.now() + CLAIM_SECONDS)), IfVersion(item.version))
        with suppress(Conflict):  # somebody else is at it
            await self._store.write(claimed)
            await self._revoke(replace(item, version=claimed.version), entry)

    async def _revoke(self, item: Item, entry: RevocationJob) -> None:
        if entry.unless_there and await self._is_there(entry.unless_there):
            await self._wait_for_the_end(item, entry)
            return
        try:
            await self._ask(item, entry)
        except GrantUnavailable as error:
            await self._later(item, entry, error)
        except (GrantRefused, CannotOpen, ValueError, KeyError):
            log.warning("a token could not be revoked, and never will be")
            await self._done(item)
        else:
            await self._done(item)

    async def _ask(self, item: Item, entry: RevocationJob) -> None:
        sealed = Sealed.parse(entry.sealed[TOKENS])
        opened = await self._vault.unseal(SYSTEM, SecretLocation(item.key.sk, TOKENS), sealed)
        revoked = msgspec.json.decode(opened.reveal(), type=RevocationSecrets)
        line = self._lines.for_revocation(entry.workspace_id, entry.service_type, item.key.sk)
        provider = msgspec.convert(entry.provider, AuthorizationServer)
        client = self._client(entry, provider, revoked)
        await revoke(line, provider, client, access=revoked.access, refresh=revoked.refresh)

    def _client(self, entry: RevocationJob, provider: AuthorizationServer, revoked: RevocationSecrets) -> OAuthClient:
        """Another app of the operator's, or none, is waited out: only the one that it was given to can revoke it."""
        if entry.client.kind == "service" and provider.revocation and provider.revocation.with_client:
            app = self._apps.get(entry.service_type)
            if app is None or app.id != entry.client.id:
                raise GrantUnavailable("not_set_up", sent=False)
            return app
        facts = {"id": entry.client.id, "auth": entry.client.auth}
        return msgspec.convert(
            facts | {"secret": revoked.client_secret, "private_key": revoked.private_key}, OAuthClient
        )

    async def _wait_for_the_end(self, item: Item, entry: RevocationJob) -> None:
        if self._clock.now() - entry.since > LEAVING_SECONDS:
            await self._done(item)
        else:
            await self._put_off(item, entry, 2.0)

    async def _later(self, item: Item, entry: RevocationJob, error: GrantUnavailable) -> None:
        if self._clock.now() - entry.since > KEPT_SECONDS:
            log.error("a token could not be revoked for a week: given up")
            await self._done(item)
            return
        backoff = min(FIRST_WAIT * 2.0 ** min(entry.tries, 20), LONGEST_WAIT) * between(0.8, 1.2)
        await self._put_off(item, entry, max(backoff, min(error.retry_after or 0.0, LONGEST_WAIT)))

    async def _put_off(self, item: Item, entry: RevocationJob, seconds: float) -> None:
        later = replace(entry, due=self._clock.now() + seconds, tries=entry.tries + 1)
        await self._store.write(Put(item.key, asdict(later), IfVersion(item.version)))

    async def _done(self, item: Item) -> None:
        await self._store.write(Delete(item.key, IfVersion(item.version)))


def _tell(error: BaseException) -> None:
    if isinstance(error, StoreUnavailable | RootKeyUnavailable):
        log.info("what is to be revoked has to wait for the store, or for the root key")
    else:
        log.error("an entry of the outbox could not be worked on", exc_info=error)
