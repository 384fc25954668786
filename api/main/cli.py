"""The command `plugboard`: which commands there are, and what each takes."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.storage.store import StoreUnavailable
from api.main import commands, server_process
from api.main.settings import InvalidSetting, Settings


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _parser().parse_args(arguments)
    server_process.harden_process()
    try:
        settings = Settings.from_environment(os.environ)
        if asked.run is commands.serve:
            commands.serve(settings)
        else:
            asyncio.run(asked.run(settings, asked))
    except (InvalidSetting, StoreUnavailable, RootKeyUnavailable, CannotOpen) as error:
        sys.exit(f"plugboard: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="plugboard", description="MCP servers and services as tools for agents.")
    several = parser.add_subparsers(required=True, metavar="command")
    serve = several.add_parser("serve", help="serve the API")
    serve.set_defaults(run=commands.serve)
    setup = several.add_parser("setup", help="make a workspace with its first admin key, or an operator key")
    which = setup.add_mutually_exclusive_group(required=True)
    which.add_argument("--workspace", metavar="NAME", help="make a workspace of this name")
    which.add_argument("--operator", action="store_true", help="make an operator key")
    which.add_argument("--admin-key", metavar="ID", help="make another admin key for this workspace")
    setup.add_argument("--json", action="store_true", help="print the JSON alone")
    setup.set_defaults(run=commands.setup)
    keys = several.add_parser("keys", help="the keys that credentials are sealed with")
    what = keys.add_subparsers(required=True, metavar="what")
    status = what.add_parser("status", help="count what is sealed under which key; changes nothing")
    status.set_defaults(run=commands.keys_status)
    rotate = what.add_parser("rotate", help="make a new data key for each workspace, which seals from then on")
    rotate.set_defaults(run=commands.keys_rotate)
    rewrap = what.add_parser("rewrap", help="bring everything under the newest keys and destroy the old data keys")
    rewrap.set_defaults(run=commands.keys_rewrap)
    for each in (status, rotate, rewrap):
        each.add_argument("--workspace", metavar="ID", help="only this workspace")
    operator = several.add_parser("operator-keys", help="the keys of operators")
    which_keys = operator.add_subparsers(required=True, metavar="what")
    which_keys.add_parser("list", help="list them, without their secrets").set_defaults(run=commands.operator_keys_list)
    revoked = which_keys.add_parser("revoke", help="revoke one; it stops working with the very next request")
    revoked.add_argument("id", help="as the list shows it")
    revoked.set_defaults(run=commands.operator_keys_revoke)
    table = several.add_parser("table", help="the DynamoDB table")
    made = table.add_subparsers(required=True, metavar="what")
    made.add_parser("create", help="make the table as infra/stack.yaml defines it").set_defaults(
        run=commands.table_create
    )
    openapi = several.add_parser("openapi", help="print the OpenAPI document of the API")
    openapi.set_defaults(run=commands.openapi)
    return parser
