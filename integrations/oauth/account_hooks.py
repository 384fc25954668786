"""Whose is a grant, where the answer with the tokens does not say? The service's `hooks.py` may know how to ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

from integrations.http_port import Http
from integrations.plugin_modules import load_plugin_module

FILE = "hooks.py"

AccountHook = Callable[[Http, str, str], Awaitable[object]]
"""`async def account(http, api_base_url, access_token) -> Account`: whose grant it is, if it keeps to that."""


@cache
def load_account_hook(folder: Path) -> AccountHook | None:
    found: AccountHook | None = getattr(load_plugin_module(folder, FILE), "account", None)
    return found
