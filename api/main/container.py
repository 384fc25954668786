"""What a running Plugboard is made of, put together from its settings: for the server and for the commands alike."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from api.access.authenticator import Access
from api.access.last_used import Usage
from api.access.peppers import SYSTEM, Peppers
from api.access.repository import Keys
from api.api_keys.service import KeyMaker
from api.audit.journal import CallLog, Journal
from api.kit.clock import Clock, SystemClock
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.kms_root_keys import KmsRoots, kms_client
from api.kit.crypto.root_keys import BadRootKeys, JoinedRoots, LocalRoots, RootKeys, create_key_file
from api.kit.crypto.vault import Vault
from api.kit.cursors import Cursors
from api.kit.deadline import Ticker
from api.kit.egress.resolver import Lookup, Names, system_lookup
from api.kit.http_client.client import Outbound
from api.kit.metrics import Metrics
from api.kit.storage.dynamodb.store import DynamoStore, dynamo_client
from api.kit.storage.revision_cache import Memory
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Store
from api.main.oauth_wiring import Base, Connecting, connecting, reached
from api.main.settings import BadSetting, Settings
from api.servers.rules import Rules
from api.servers.service import Workshop
from api.services.service import ServiceList
from api.toolbox.calling.bulkheads import Bulkheads
from api.toolbox.calling.circuit_breakers import Breakers
from api.toolbox.credentials.static import Credentials
from api.toolbox.runtime import Works
from api.toolbox.toolsets.registry import Means, Toolsets
from api.workspaces.service import Removal, Workspaces
from integrations import Service, services

DATABASE = "plugboard.db"
KEY_FILE = "root.key"
NO_ROOT_KEY = (
    "with PLUGBOARD_STORE=dynamodb, all machines need the same root key. Set PLUGBOARD_KMS_KEY_ID to an AWS KMS key, "
    "or PLUGBOARD_ROOT_KEY to `id:base64` of 32 random bytes, made for instance with: "
    """python3 -c "import base64, os; print('k1:' + base64.b64encode(os.urandom(32)).decode())\""""
)


@dataclass(frozen=True, slots=True)
class Parts:
    settings: Settings
    clock: Clock
    store: Store
    roots: RootKeys
    keyring: KeyRing
    vault: Vault
    journal: Journal
    call_log: CallLog
    metrics: Metrics
    works: Works
    keys: Keys
    usage: Usage
    access: Access
    key_maker: KeyMaker
    workspaces: Workspaces
    removal: Removal
    workshop: Workshop
    connecting: Connecting
    services: ServiceList
    cursors: Cursors

    async def close(self) -> None:
        """What is under way is finished, what is remembered is written."""
        try:
            written = (self.connecting.close(), self.removal.finish(), self.usage.finish(), self.call_log.finish())
            await asyncio.gather(*written)
            await self.works.toolsets.close()
        finally:
            await self.works.outbound.close()
            await self.store.close()
            self.roots.close()


async def assemble(
    settings: Settings,
    clock: Clock | None = None,
    lookup: Lookup = system_lookup,
    catalog: Mapping[str, Service] | None = None,
) -> Parts:
    clock = clock or SystemClock()
    catalog = services() if catalog is None else catalog
    roots, store, keyring, vault = await open_safe(settings, clock)
    journal, egress = Journal(store, clock), settings.reachable
    peppers, keys, usage = Peppers(vault), Keys(store), Usage(store, clock)
    maker, access = KeyMaker(peppers, clock), Access(keys, Memory(store), peppers, usage, clock)
    outbound = Outbound(egress, names=Names(lookup))
    joined = connecting(Base(settings, store, vault, journal, clock, access, lookup), outbound, catalog)
    vendors = reached(settings, catalog, joined.works.lines.vendors)
    means = Means(store, outbound, egress, Credentials(vault, egress, joined.tokens, clock), vendors, clock)
    works = open_works(means)
    rules = Rules(catalog, egress)
    return Parts(
        settings=settings,
        clock=clock,
        store=store,
        roots=roots,
        keyring=keyring,
        vault=vault,
        journal=journal,
        call_log=works.call_log,
        metrics=works.metrics,
        works=works,
        keys=keys,
        usage=usage,
        access=access,
        key_maker=maker,
        workspaces=Workspaces(store, journal, keyring, clock, maker),
        removal=Removal(store),
        workshop=Workshop(store, vault, journal, clock, rules, egress, joined.endings),
        connecting=joined,
        services=ServiceList(catalog, settings.oauth_apps, settings.public_url),
        cursors=Cursors((await vault.derived_key(SYSTEM, "cursor", 1)).secret),
    )


async def open_safe(settings: Settings, clock: Clock) -> tuple[RootKeys, Store, KeyRing, Vault]:
    """What is stored, and what opens what is sealed in it."""
    roots = open_roots(settings)
    store = open_store(settings, clock)
    keyring = KeyRing(store, roots, clock)
    await keyring.ensure(SYSTEM)
    return roots, store, keyring, Vault(keyring)


def open_works(means: Means) -> Works:
    works = Works(
        Toolsets(means),
        means.credentials,
        means.vendors,
        means.outbound,
        Breakers(means.clock),
        Bulkheads(),
        CallLog(means.store),
        Metrics(version("plugboard")),
        means.clock,
        Ticker(asyncio.get_running_loop()),
    )
    measure(works)
    return works


def measure(works: Works) -> None:
    """What is counted where it happens, read when somebody collects it."""
    gauge, log = works.metrics.gauge, works.call_log
    gauge("call_records_waiting", "Records of calls that are not yet written.", lambda: log.waiting)
    works.metrics.counter("call_records_dropped", "Records of calls that never will be.", lambda: log.dropped)
    gauge("tool_calls_in_flight", "Calls of tools that are under way.", lambda: works.bulkheads.busy().calls)
    gauge("toolsets_open", "Servers with a session or a remembered list.", lambda: len(works.toolsets))
    gauge("breakers_open", "Servers that are left alone for a while.", lambda: works.breakers.shut)


def open_store(settings: Settings, clock: Clock) -> Store:
    if settings.store == "dynamodb":
        return DynamoStore(dynamo_client(settings.dynamodb_endpoint), settings.table, clock)
    return SqliteStore(data_dir(settings) / DATABASE, clock)


def open_roots(settings: Settings) -> RootKeys:
    """The KMS key seals where there is one; a local ring beside it can still open what it wrapped before."""
    try:
        local = _local_roots(settings)
    except BadRootKeys as error:
        raise BadSetting("PLUGBOARD_ROOT_KEY", str(error)) from error
    if settings.kms_key_id is None:
        if local is None:
            raise BadSetting("PLUGBOARD_ROOT_KEY", NO_ROOT_KEY)
        return local
    kms = _kms_roots(settings.kms_key_id)
    return JoinedRoots(kms, local) if local else kms


def _kms_roots(key_ids: str) -> KmsRoots:
    """Several, separated by commas, while one takes the place of another: the first seals, all of them read."""
    try:
        return KmsRoots(kms_client(), *key_ids.replace(" ", "").split(","))
    except BadRootKeys as error:
        raise BadSetting("PLUGBOARD_KMS_KEY_ID", str(error)) from error


def _local_roots(settings: Settings) -> LocalRoots | None:
    if settings.root_key is not None:
        return LocalRoots.parse(settings.root_key)
    if settings.store == "dynamodb":
        return None
    path = data_dir(settings) / KEY_FILE
    if settings.kms_key_id is None:
        _make_key_file(path)
    return LocalRoots.from_file(path) if path.exists() else None


def _make_key_file(path: Path) -> None:
    """Only together with a new database: to the credentials of an old one, a new key would be no key."""
    if path.exists():
        return
    if path.with_name(DATABASE).exists():
        raise BadRootKeys(f"{path} is missing, and {DATABASE} beside it was sealed with it: put it back")
    create_key_file(path)


def data_dir(settings: Settings) -> Path:
    path = settings.data_dir
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadSetting("PLUGBOARD_DATA_DIR", f"{path} cannot be made: {error.strerror}.") from error
    if path.is_dir() and path.stat().st_mode & 0o002:
        raise BadSetting("PLUGBOARD_DATA_DIR", f"everybody may write to {path}: run `chmod 700 {path}`.")
    if not os.access(path, os.W_OK):
        raise BadSetting("PLUGBOARD_DATA_DIR", f"{path} cannot be written to.")
    return path
