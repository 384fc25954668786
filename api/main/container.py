"""The composition root: builds all components from the settings, for the server and for the commands."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from api.access.api_key_scheme import ApiKeyScheme
from api.access.authenticator import Authenticator
from api.access.last_used import LastUsedRecorder
from api.access.peppers import SYSTEM, Peppers
from api.access.record_limits import RecordLimits
from api.access.repository import ApiKeyRepository
from api.api_keys.service import KeyMaker
from api.audit.call_log import CallLog
from api.audit.journal import Journal
from api.connections.client_repository import client_secret_use_key
from api.connections.registration_pruner import RegistrationPruner
from api.kit.cache.memory import CacheMemory
from api.kit.clock import Clock, SystemClock
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.kms_root_keys import KmsRootKeys, kms_client
from api.kit.crypto.root_key_check import RootKeyCheck
from api.kit.crypto.root_keys import CombinedRootKeys, InvalidRootKeys, LocalRootKeys, RootKeys, create_key_file
from api.kit.crypto.vault import Vault
from api.kit.cursors import CursorSigner
from api.kit.deadline import Ticker
from api.kit.egress.resolver import Lookup, Resolver, system_lookup
from api.kit.http_client.client import HttpClient
from api.kit.jobs import BackgroundJobs
from api.kit.metrics import Metrics
from api.kit.storage.dynamodb.store import DynamoStore, dynamo_client
from api.kit.storage.job_lease import JobLease
from api.kit.storage.postgres.store import PostgresStore
from api.kit.storage.revision_cache import RevisionCache
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Key, Store
from api.kit.storage.timed_store import TimedStore
from api.main.metrics_wiring import register_calls
from api.main.oauth_wiring import ConnectionComponents, SharedDeps, build_connections, service_directory
from api.main.postgres_url import FORM as POSTGRES_URL_FORM
from api.main.settings import InvalidSetting, Settings
from api.servers.rules import Rules
from api.servers.service import ServerDeps
from api.services.service import ServiceList
from api.toolbox.calling.bulkheads import Bulkheads
from api.toolbox.calling.circuit_breakers import CircuitBreakers
from api.toolbox.credentials.static import CredentialStore
from api.toolbox.listing.caches import RenderedListCache, ToolboxCache
from api.toolbox.metrics import ToolCallCollector
from api.toolbox.protocol_repository import protocol_key
from api.toolbox.runtime import ToolRuntime
from api.toolbox.tool_name_repository import tool_names_key
from api.toolbox.toolsets.dependencies import ToolsetDeps
from api.toolbox.toolsets.registry import ToolsetRegistry
from api.workspaces.purge import WorkspacePurge
from api.workspaces.service import Workspaces
from integrations import Service, services

DATABASE = "plugboard.db"
KEY_FILE = "root.key"
COPY_MARK = Key(SYSTEM, "COPY")
"""An item of a store into which an installation is still being copied."""
NO_ROOT_KEY = (
    "with PLUGBOARD_STORE={}, all machines need the same root key. Set PLUGBOARD_KMS_KEY_ID to an AWS KMS key, "
    "or PLUGBOARD_ROOT_KEY to `id:base64` of 32 random bytes, created for example with: "
    """python3 -c "import base64, os; print('k1:' + base64.b64encode(os.urandom(32)).decode())\""""
)

ATTACHED = (protocol_key, tool_names_key, client_secret_use_key)
"""The keys of records that the connections and the toolbox attach to a server."""


@dataclass(frozen=True, slots=True)
class Container:
    settings: Settings
    clock: Clock
    store: TimedStore
    root_keys: RootKeys
    key_ring: KeyRing
    vault: Vault
    journal: Journal
    limits: RecordLimits
    jobs: BackgroundJobs
    runtime: ToolRuntime
    api_keys: ApiKeyRepository
    last_used: LastUsedRecorder
    authenticator: Authenticator
    key_maker: KeyMaker
    workspaces: Workspaces
    workspace_purge: WorkspacePurge
    server_deps: ServerDeps
    connections: ConnectionComponents
    services: ServiceList
    cursors: CursorSigner

    async def close(self) -> None:
        """Finish running work, and write what is buffered."""
        try:
            await self.jobs.close()
            writes = (
                self.connections.close(),
                self.last_used.finish(),
                self.runtime.call_log.finish(),
            )
            await asyncio.gather(*writes)
            await self.runtime.toolsets.close()
        finally:
            await self.runtime.outbound.close()
            await self.store.close()
            self.root_keys.close()


async def build_container(
    settings: Settings,
    clock: Clock | None = None,
    lookup: Lookup = system_lookup,
    catalog: Mapping[str, Service] | None = None,
    trust: ssl.SSLContext | None = None,
) -> Container:
    clock, catalog = clock or SystemClock(), services() if catalog is None else catalog
    roots, store, keyring, vault = await open_encrypted_store(settings, clock)
    jobs, egress = BackgroundJobs(clock, JobLease(store, SYSTEM, clock)), settings.reachable
    peppers, keys, last_used = Peppers(vault), ApiKeyRepository(store), LastUsedRecorder(store, clock)
    rules, key_maker = Rules(catalog, egress), KeyMaker(peppers, clock)
    journal, limits = Journal(store, clock, settings.audit_days), RecordLimits(store, clock, settings.record_limits)
    memory, outbound = CacheMemory(*settings.cache_limits), HttpClient(egress, names=Resolver(lookup), trust=trust)
    authenticator = Authenticator([ApiKeyScheme(keys, peppers, last_used)], RevisionCache(store, memory), clock, memory)
    shared = SharedDeps(settings, store, vault, journal, clock, authenticator, lookup)
    connections = build_connections(shared, outbound, catalog)
    deps = toolset_deps(shared, connections, outbound, catalog)
    return Container(
        settings=settings,
        clock=clock,
        store=store,
        root_keys=roots,
        key_ring=keyring,
        vault=vault,
        journal=journal,
        limits=limits,
        jobs=jobs,
        runtime=build_tool_runtime(deps, memory, jobs, CallLog(store, kept_days=settings.audit_days)),
        api_keys=keys,
        last_used=last_used,
        authenticator=authenticator,
        key_maker=key_maker,
        workspaces=Workspaces(store, journal, limits, keyring, clock, key_maker),
        workspace_purge=WorkspacePurge(store),
        server_deps=ServerDeps(store, vault, journal, clock, rules, egress, connections.grant_end, limits, ATTACHED),
        connections=connections,
        services=ServiceList(catalog, settings.oauth_apps, settings.public_url),
        cursors=CursorSigner((await vault.derived_key(SYSTEM, "cursor", 1)).secret),
    )


def schedule_jobs(container: Container) -> None:
    """The periodic jobs of a serving process. A command runs none."""
    container.workspace_purge.schedule(container.jobs)
    container.connections.revocation_queue.schedule(container.jobs)
    registration_pruner(container).schedule(container.jobs)
    RootKeyCheck(container.key_ring, container.workspaces.partitions).schedule(container.jobs)


def registration_pruner(container: Container) -> RegistrationPruner:
    return RegistrationPruner(container.store, container.workspaces.ids, container.authenticator.enter_as_system)


async def open_encrypted_store(settings: Settings, clock: Clock) -> tuple[RootKeys, TimedStore, KeyRing, Vault]:
    """The store, and the keys that decrypt what is in it."""
    roots = open_root_keys(settings)
    async with AsyncExitStack() as until_ready:
        opened = open_store(settings, clock)
        until_ready.push_async_callback(opened.close)
        if isinstance(opened, PostgresStore):
            await opened.prepare()
        store = TimedStore(opened)
        await _refuse_an_unfinished_copy(store)
        keyring = KeyRing(store, roots, clock)
        await keyring.ensure_permanent(SYSTEM)
        until_ready.pop_all()  # the caller closes it
    return roots, store, keyring, Vault(keyring)


async def _refuse_an_unfinished_copy(store: Store) -> None:
    if await store.get(COPY_MARK):
        await store.close()
        raise InvalidSetting("PLUGBOARD_STORE", "the store is an unfinished copy: run `plugboard store copy` again.")


def toolset_deps(
    shared: SharedDeps, connections: ConnectionComponents, outbound: HttpClient, catalog: Mapping[str, Service]
) -> ToolsetDeps:
    egress = shared.settings.reachable
    credentials = CredentialStore(shared.vault, egress, connections.tokens, shared.clock)
    directory = service_directory(shared.settings, catalog, connections.auth_http.vendors)
    ticker = Ticker(asyncio.get_running_loop())
    return ToolsetDeps(shared.store, outbound, egress, credentials, directory, shared.clock, ticker)


def build_tool_runtime(deps: ToolsetDeps, memory: CacheMemory, jobs: BackgroundJobs, call_log: CallLog) -> ToolRuntime:
    runtime = ToolRuntime(
        ToolsetRegistry(deps, memory),
        deps.outbound,
        CircuitBreakers(deps.clock),
        Bulkheads(),
        call_log,
        Metrics(version("plugboard")),
        ToolCallCollector(),
        deps.clock,
        deps.ticker,
        ToolboxCache(memory),
        RenderedListCache(memory),
    )
    runtime.metrics.caches(memory.uses)
    register_calls(runtime)
    runtime.metrics.jobs(jobs.status)
    return runtime


def open_store(settings: Settings, clock: Clock) -> Store:
    match settings.store:
        case "sqlite":
            return SqliteStore(data_dir(settings) / DATABASE, clock)
        case "postgres":
            return open_postgres(settings, clock)
        case "dynamodb":
            return DynamoStore(dynamo_client(settings.dynamodb_endpoint), settings.table, clock)


def open_postgres(settings: Settings, clock: Clock) -> PostgresStore:
    if settings.postgres is None:
        raise InvalidSetting("PLUGBOARD_POSTGRES_URL", f"must be set: {POSTGRES_URL_FORM}.")
    return PostgresStore(settings.postgres, settings.table, clock, settings.postgres_connections)


def open_root_keys(settings: Settings) -> RootKeys:
    """A KMS key, if set, encrypts; a local key beside it still decrypts earlier data."""
    try:
        local = _local_root_keys(settings)
    except InvalidRootKeys as error:
        raise InvalidSetting("PLUGBOARD_ROOT_KEY", str(error)) from error
    if settings.kms_key_id is None:
        if local is None:
            raise InvalidSetting("PLUGBOARD_ROOT_KEY", NO_ROOT_KEY.format(settings.store))
        return local
    kms = _kms_root_keys(settings.kms_key_id)
    return CombinedRootKeys(kms, local) if local else kms


def _kms_root_keys(key_ids: str) -> KmsRootKeys:
    """Several keys, separated by commas, during a replacement: the first encrypts, all of them decrypt."""
    try:
        return KmsRootKeys(kms_client(), *key_ids.replace(" ", "").split(","))
    except InvalidRootKeys as error:
        raise InvalidSetting("PLUGBOARD_KMS_KEY_ID", str(error)) from error


def _local_root_keys(settings: Settings) -> LocalRootKeys | None:
    if settings.root_key is not None:
        return LocalRootKeys.parse(settings.root_key)
    if settings.store != "sqlite":
        return None
    path = data_dir(settings) / KEY_FILE
    if settings.kms_key_id is None:
        _make_key_file(path)
    return LocalRootKeys.from_file(path) if path.exists() else None


def _make_key_file(path: Path) -> None:
    """Create a key file only together with a new database: a new key cannot decrypt existing credentials."""
    if path.exists():
        return
    if path.with_name(DATABASE).exists():
        raise InvalidRootKeys(f"{path} is missing, and {DATABASE} beside it is encrypted with it: restore it")
    create_key_file(path)


def data_dir(settings: Settings) -> Path:
    path = settings.data_dir
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidSetting("PLUGBOARD_DATA_DIR", f"{path} cannot be created: {error.strerror}.") from error
    if path.is_dir() and path.stat().st_mode & 0o002:
        raise InvalidSetting("PLUGBOARD_DATA_DIR", f"every user can write to {path}: run `chmod 700 {path}`.")
    if not os.access(path, os.W_OK):
        raise InvalidSetting("PLUGBOARD_DATA_DIR", f"{path} is not writable.")
    return path
