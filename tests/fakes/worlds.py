"""Which vendor's API is behind a fake provider: a world with data in it, that enforces the vendor's contract."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from tests.fakes.authorization_tenant import Tenant
from tests.fakes.authorization_wire import Answer, Request


class World(Protocol):
    def answer(self, request: Request) -> Answer:
        """`request.path` is the vendor's own. Whether the token is good is the world's to ask: `tenant.grants.good`."""
        ...


def world_of(name: str, tenant: Tenant) -> World | None:
    """`tests/fakes/<name>_world.py` has it, as `class World`, made with the tenant."""
    module = f"tests.fakes.{name.replace('-', '_')}_world"
    if find_spec(module) is None:
        return None
    made: World = import_module(module).World(tenant)
    return made
