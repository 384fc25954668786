"""What does a service's folder say in Python, where no field of its manifest could?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from integrations.client import Http

FILE = "hooks.py"
HERE = Path(__file__).resolve().parents[1]

AccountHook = Callable[[Http, str, str], Awaitable[object]]
"""`async def account(http, api_base_url, access_token) -> Account`: whose grant it is, if it keeps to that."""


@cache
def account_hook(folder: Path) -> AccountHook | None:
    found: AccountHook | None = getattr(_module(folder), "account", None)
    return found


def _module(folder: Path) -> ModuleType | None:
    """Imported when it is first needed; a folder elsewhere is no package of ours, so it is found by its file."""
    file = folder.resolve() / FILE
    if not file.is_file():
        return None
    if file.parent.parent == HERE:
        return import_module(f"{__name__.partition('.')[0]}.{folder.name}.{file.stem}")
    spec = spec_from_file_location(f"{folder.name}_hooks", file)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
