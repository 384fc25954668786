"""Finds the fake API behind the fake authorization server of a service."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

from demo.oauth_provider.http import Request, Response
from demo.oauth_provider.tenant import Tenant

CLASSES = {
    "hubspot": "FakeHubSpot",
    "linear": "FakeLinear",
    "notion": "FakeNotion",
    "posthog": "FakePostHog",
    "slack": "FakeSlack",
}
"""The classes in `demo/services/<name>/fake.py`, which are imported lazily."""


class FakeService(Protocol):
    def respond(self, request: Request) -> Response:
        """`request.path` is the vendor's own. The fake checks the token itself, with `tenant.grants.valid_token`."""
        ...


def fake_service(name: str, tenant: Tenant) -> FakeService | None:
    if name not in CLASSES:
        return None
    fake: FakeService = getattr(import_module(f"demo.services.{name}.fake"), CLASSES[name])(tenant)
    return fake
