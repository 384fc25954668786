"""The command line of `plugboard`: its commands and their arguments."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.storage.store import StoreUnavailable
from api.main import commands, server_process
from api.main.maintenance.backup import InvalidBackup, backup, restore
from api.main.maintenance.doctor import run_doctor
from api.main.maintenance.store_copy import store_copy
from api.main.settings import InvalidSetting, Settings

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # has no public name


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parser().parse_args(arguments)
    server_process.harden_process()
    try:
        settings = Settings.from_environment(os.environ)
        if args.run is commands.serve:
            commands.serve(settings)
        else:
            asyncio.run(args.run(settings, args))
    except (InvalidBackup, InvalidSetting, StoreUnavailable, RootKeyUnavailable, CannotOpen) as error:
        sys.exit(f"plugboard: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="plugboard", description="MCP servers and services as tools for agents.")
    parser.add_argument("--version", action="version", version=f"plugboard {version('plugboard')}")
    commands_parsers = parser.add_subparsers(required=True, metavar="command")
    serve = commands_parsers.add_parser("serve", help="serve the API")
    serve.set_defaults(run=commands.serve)
    setup = commands_parsers.add_parser("setup", help="create a workspace with its first admin key, or an operator key")
    setup_group = setup.add_mutually_exclusive_group(required=True)
    setup_group.add_argument("--workspace", metavar="NAME", help="create a workspace with this name")
    setup_group.add_argument("--operator", action="store_true", help="create an operator key")
    setup_group.add_argument("--admin-key", metavar="ID", help="create another admin key for this workspace")
    setup.add_argument("--new", action="store_true", help="make a new database where there is none")
    setup.add_argument("--json", action="store_true", help="print only the JSON")
    setup.set_defaults(run=commands.setup)
    _add_keys(commands_parsers)
    _add_operator_keys(commands_parsers)
    table = commands_parsers.add_parser("table", help="the table of DynamoDB or PostgreSQL")
    table_commands = table.add_subparsers(required=True, metavar="what")
    table_commands.add_parser("create", help="create the table, on PostgreSQL also migrate it").set_defaults(
        run=commands.table_create
    )
    template = table_commands.add_parser("template", help="print a CloudFormation template of the table, key and role")
    template.set_defaults(run=commands.table_template)
    _add_moves(commands_parsers)
    doctor = commands_parsers.add_parser("doctor", help="look for problems in settings, store, keys and network")
    doctor.add_argument("--offline", action="store_true", help="make no requests to other hosts")
    doctor.set_defaults(run=run_doctor)
    openapi = commands_parsers.add_parser("openapi", help="print the OpenAPI document of the API")
    openapi.set_defaults(run=commands.openapi)
    return parser


def _add_keys(commands_parsers: Subparsers) -> None:
    keys = commands_parsers.add_parser("keys", help="the keys that credentials are sealed (encrypted) with")
    keys_commands = keys.add_subparsers(required=True, metavar="what")
    status = keys_commands.add_parser("status", help="count what is sealed under each key; changes nothing")
    status.set_defaults(run=commands.keys_status)
    rotate = keys_commands.add_parser("rotate", help="create a new data key for each workspace, for all later writes")
    rotate.set_defaults(run=commands.keys_rotate)
    rewrap = keys_commands.add_parser(
        "rewrap", help="seal everything again under the newest keys and destroy the old data keys"
    )
    rewrap.set_defaults(run=commands.keys_rewrap)
    for command in (status, rotate, rewrap):
        command.add_argument("--workspace", metavar="ID", help="only this workspace")


def _add_operator_keys(commands_parsers: Subparsers) -> None:
    operator = commands_parsers.add_parser("operator-keys", help="manage operator keys")
    operator_commands = operator.add_subparsers(required=True, metavar="what")
    operator_commands.add_parser("list", help="list the keys without their secrets").set_defaults(
        run=commands.operator_keys_list
    )
    revoked = operator_commands.add_parser("revoke", help="revoke a key; it stops working with the next request")
    revoked.add_argument("id", help="the id of the key, from the list")
    revoked.set_defaults(run=commands.operator_keys_revoke)


def _add_moves(commands_parsers: Subparsers) -> None:
    saved = commands_parsers.add_parser("backup", help="copy the SQLite database, also while the server runs")
    saved.set_defaults(run=backup)
    restored = commands_parsers.add_parser("restore", help="check a backup and make a database from it")
    restored.add_argument("--check", action="store_true", help="only check the backup")
    restored.set_defaults(run=restore)
    for command in (saved, restored):
        command.add_argument("directory", type=Path, metavar="DIR", help="the directory of the backup")
    store = commands_parsers.add_parser("store", help="the store of the installation")
    store_commands = store.add_subparsers(required=True, metavar="what")
    copied = store_commands.add_parser("copy", help="copy everything into another store; stop the servers first")
    copied.add_argument("--to", type=Path, required=True, metavar="FILE", help="the other store's settings, NAME=value")
    copied.add_argument("--dry-run", action="store_true", help="check both stores and the keys; copy nothing")
    copied.set_defaults(run=store_copy)
