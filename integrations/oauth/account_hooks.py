"""The account of a grant, from the service's `hooks.py` where the token response does not name it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

from integrations.http_port import Http
from integrations.plugin_modules import load_plugin_module

FILE = "hooks.py"

AccountHook = Callable[[Http, str, str], Awaitable[object]]
"""`async def account(http, api_base_url, access_token) -> Account`; the return value is not trusted to be one."""


@cache
def load_account_hook(folder: Path) -> AccountHook | None:
    hook: AccountHook | None = getattr(load_plugin_module(folder, FILE), "account", None)
    return hook
