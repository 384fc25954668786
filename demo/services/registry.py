"""Finds the fake API behind the fake authorization server of a service."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from demo.oauth_provider.http import Answer, Request
from demo.oauth_provider.tenant import Tenant


class World(Protocol):
    def answer(self, request: Request) -> Answer:
        """`request.path` is the vendor's own. Whether the token is good is the world's to ask: `tenant.grants.good`."""
        ...


def world_of(name: str, tenant: Tenant) -> World | None:
    """The `World` of `demo/services/<name>/fake.py`, if there is one."""
    module = f"demo.services.{name.replace('-', '_')}.fake"
    if find_spec(module.rpartition(".")[0]) is None or find_spec(module) is None:
        return None
    made: World = import_module(module).World(tenant)
    return made
