"""The commands of `plugboard`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from pydantic import ValidationError

from api.access.context import partition_of
from api.access.peppers import SYSTEM
from api.access.repository import OPERATORS, revision_key
from api.api_keys.service import make_admin_key, make_operator_key, revoke_operator_key
from api.errors import NotFound, TooManyRecords
from api.kit import logs
from api.kit.clock import SystemClock
from api.kit.crypto.data_keys import NoDataKey, TooManyDataKeys
from api.kit.crypto.reencryption import KeyUsage, ReencryptionResult, count, rewrap
from api.kit.crypto.secret import Secret
from api.kit.storage.creation_order import creation_order
from api.kit.storage.dynamodb.store import dynamo_client
from api.kit.storage.dynamodb.table import STACK, create_table
from api.kit.storage.store import IfPresent, Put
from api.main import server_process
from api.main.app import build_router_app
from api.main.container import DATABASE, Container, build_container, open_postgres
from api.main.environment_check import environment_problems
from api.main.greeting import base_url, greeting
from api.main.settings import InvalidSetting, Settings
from api.workspaces.schemas import WorkspaceDraft
from api.workspaces.service import CreatedWorkspace, setup_context
from integrations import services

FIRST_WORKSPACE = "My workspace"
SAME_ENVIRONMENT = "Run the command in the server's directory and with the server's environment variables."
NEW_DATABASE = " To make a new database here, add --new."
START_SECONDS = 30  # on a busy machine, imports alone take a worker longer than uvicorn's five seconds
DRAIN_SECONDS = 35  # an upstream request may take 30
UVICORN_OPTIONS: dict[str, Any] = {
    "loop": "uvloop",
    "http": "api.http.server.protocol:LimitedHttpProtocol",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "lifespan": "on",
    "ws": "none",
    "timeout_graceful_shutdown": DRAIN_SECONDS,
    "timeout_worker_healthcheck": START_SECONDS,
}


def serve(settings: Settings) -> None:
    """Run all checks once, before a process starts or a port opens; then serve."""
    server_process.check_bindable(settings)
    for problem in environment_problems(settings.given, services().values()):
        sys.stderr.write(f"plugboard: {problem}\n")
    first = asyncio.run(_prepare(settings))
    if first:
        _print_result(greeting(settings, first))
    _print_result(
        f"Serving on {base_url(settings)}, described at {base_url(settings)}/docs. Ctrl-C stops it. The log follows:"
    )
    logs.configure()
    server_process.run(settings, **UVICORN_OPTIONS)


async def _prepare(settings: Settings) -> CreatedWorkspace | None:
    """Creates what is missing; a new database gets a first workspace."""
    new = settings.store == "sqlite" and not (settings.data_dir / DATABASE).exists()
    async with _open_container(settings) as container:
        return await _create_first_workspace(container, FIRST_WORKSPACE) if new else None


async def setup(settings: Settings, args: argparse.Namespace) -> None:
    if args.admin_key or not (args.new or "PLUGBOARD_DATA_DIR" in settings.given):
        _require_database(settings, "" if args.admin_key else NEW_DATABASE)
    async with _open_container(settings) as container:
        if args.operator:
            result = {"apiKey": await make_operator_key(container.store, container.key_maker)}
        elif args.admin_key:
            result = {"apiKey": await _admin_key(container, args.admin_key)}
        else:
            created = await _create_first_workspace(container, _name(args.workspace))
            result = {"workspaceId": Secret(created.workspace.id), "apiKey": created.key}
    if not args.json:
        _print_result("Keep this key: it cannot be shown again.")
    _print_result(json.dumps({name: value.reveal_text() for name, value in result.items()}))


async def _admin_key(container: Container, workspace_id: str) -> Secret:
    """Create another key for a workspace whose admins have lost theirs."""
    try:
        ctx = await container.authenticator.enter_as_operator(setup_context().principal, workspace_id, "setup")
    except NotFound:
        sys.exit(f"plugboard: workspace {workspace_id} does not exist")
    return await make_admin_key(ctx, container.journal, container.limits, container.key_maker)


async def operator_keys_list(settings: Settings, _: argparse.Namespace) -> None:
    async with _existing_workspace(settings) as container:
        listing, after = creation_order(container.api_keys.of(OPERATORS), None), None
        while page := await listing.page(100, after):
            for record in page:
                _print_result(f"{record.id}  created {record.created_at}")
            after = listing.position(page[-1])


async def operator_keys_revoke(settings: Settings, args: argparse.Namespace) -> None:
    async with _existing_workspace(settings) as container:
        if not await revoke_operator_key(container.store, container.api_keys, args.id):
            sys.exit(f"plugboard: operator key {args.id} does not exist")
    _print_result(f"{args.id} is revoked.")


async def keys_status(settings: Settings, args: argparse.Namespace) -> None:
    async with _existing_workspace(settings) as container:
        async for partition in partitions(container, args.workspace):
            with _unless_deleted():
                _print_result(_usage_lines(await count(container.store, container.key_ring, partition)))


async def keys_rotate(settings: Settings, args: argparse.Namespace) -> None:
    async with _existing_workspace(settings) as container:
        async for partition in partitions(container, args.workspace):
            with _unless_deleted():
                try:
                    _print_result(f"{partition}: now at version {await container.key_ring.rotate(partition)}")
                except TooManyDataKeys as error:
                    _print_result(f"{partition}: {error}")


async def keys_rewrap(settings: Settings, args: argparse.Namespace) -> None:
    remaining = 0
    async with _existing_workspace(settings) as container:
        async for partition in partitions(container, args.workspace):
            with _unless_deleted():
                result = await rewrap(container.store, container.key_ring, partition, partial(_new_revision, partition))
                _print_result(_summary(partition, result))
                remaining += result.left.old + result.left.old_data_keys
    if remaining:
        sys.exit("Some values are still under old keys: configure all root keys that were in use and run it again.")


async def table_create(settings: Settings, _: argparse.Namespace) -> None:
    is_new = await _create_table(settings)
    _print_result(f"The table {settings.table} {'was created' if is_new else 'already exists'}.")


async def table_template(_: Settings, __: argparse.Namespace) -> None:
    _print_result(STACK.read_text(encoding="utf-8").rstrip())


async def _create_table(settings: Settings) -> bool:
    if settings.store != "postgres":
        return create_table(dynamo_client(settings.dynamodb_endpoint), settings.table)
    store = open_postgres(settings, SystemClock())
    try:
        return await store.prepare()
    finally:
        await store.close()


@asynccontextmanager
async def _open_container(settings: Settings) -> AsyncIterator[Container]:
    container = await build_container(settings)
    try:
        yield container
    finally:
        await container.close()


@asynccontextmanager
async def _existing_workspace(settings: Settings) -> AsyncIterator[Container]:
    """Open existing data only, so that a mistyped directory does not become a new, empty Plugboard."""
    _require_database(settings)
    async with _open_container(settings) as container:
        yield container


def _require_database(settings: Settings, advice: str = "") -> None:
    if settings.store == "sqlite" and not (settings.data_dir / DATABASE).exists():
        where = settings.data_dir.absolute()
        raise InvalidSetting("PLUGBOARD_DATA_DIR", f"there is no database in {where}. {SAME_ENVIRONMENT}{advice}")


def _name(text: str) -> str:
    try:
        return WorkspaceDraft(name=text).name
    except ValidationError:
        sys.exit("plugboard: a workspace's name has 1 to 100 characters in one line, at least one of them visible")


async def _create_first_workspace(container: Container, name: str) -> CreatedWorkspace:
    try:
        return await container.workspaces.create(setup_context(), name, lambda _: ())
    except TooManyRecords as error:
        sys.exit(f"plugboard: {error.detail}")


def _unless_deleted() -> suppress:
    """A workspace may be deleted after it was listed."""
    return suppress(NoDataKey)


def _new_revision(partition: str) -> list[Put]:
    """Invalidates the caches of serving processes; the system partition has none."""
    return [] if partition == SYSTEM else [Put(revision_key(partition), {}, IfPresent())]


async def partitions(container: Container, workspace_id: str | None) -> AsyncIterator[str]:
    if workspace_id is not None:
        if not await container.key_ring.keys(partition_of(workspace_id)):
            sys.exit(f"plugboard: workspace {workspace_id} does not exist")
        yield partition_of(workspace_id)
        return
    yield SYSTEM
    after = None
    while page := await container.workspaces.ids(after):
        for item in page:
            yield partition_of(item)
        after = page[-1]


def _summary(partition: str, result: ReencryptionResult) -> str:
    return (
        f"{partition}: {_count(result.resealed_values, 'value')} sealed again, "
        f"{_count(result.rewrapped_keys, 'data key')} wrapped again, {result.retired_keys} destroyed; "
        f"{_under_old_keys(result.left)}"
    )


def _usage_lines(usage: KeyUsage) -> str:
    values = [
        f"{_count(number, 'value')} sealed under {under.root}/v{under.version}"
        for under, number in usage.values.items()
    ]
    keys = [f"{_count(number, 'data key')} wrapped under {root}" for root, number in usage.data_keys.items()]
    newest = f"newest {usage.newest.root}/v{usage.newest.version}"
    return f"{usage.partition}: {newest}; {', '.join([*keys, *values])}; {_under_old_keys(usage)}"


def _under_old_keys(usage: KeyUsage) -> str:
    return f"{_count(usage.old, 'value')} still under old keys"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print_result(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def openapi(settings: Settings, _: argparse.Namespace) -> None:
    sys.stdout.buffer.write(build_router_app(settings).state.openapi.yaml)
