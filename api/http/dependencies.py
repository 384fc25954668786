"""How does a handler get what it works with? It asks by type, and `app.py` has said how each is made for a request.

Litestar's own injection would find the same by a parameter's name and convert it anew for each request, at twice the
price of the work that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from litestar import Request

AnyRequest = Request[Any, Any, Any]
Providers = Mapping[type, Callable[[AnyRequest], object]]
T = TypeVar("T")


def resolve(request: AnyRequest, kind: type[T]) -> T:
    providers: Providers = request.app.state.providers
    made: T = providers[kind](request)  # type: ignore[assignment]  # each provider makes what it is listed under
    return made
