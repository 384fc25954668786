"""What each route asks of its caller.

A route that asks nothing has to say so, and why; otherwise the app does not start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from litestar import Litestar
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from api.access.context import Caller, Scope
from api.access.service import Access
from api.errors import Forbidden, Unauthorized

Connection = ASGIConnection[Any, Any, Any, Any]


class Guard:
    """Litestar calls it before the handler; it leaves the caller's context in the request's state."""

    asks = ""

    async def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Needs(Guard):
    """A key of the workspace in the path, with this scope; limited to the agent in the path where the key is."""

    scope: Scope
    operator_too: bool = False

    @property
    def asks(self) -> str:  # type: ignore[override]
        return f"a key of the workspace with scope `{self.scope}`" + (" or an operator key" * self.operator_too)

    async def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        access: Access = connection.app.state.access
        workspace_id = connection.path_params["workspace_id"]
        authorization = _authorization(connection)
        request_id = connection.scope["state"]["request_id"]
        if self.operator_too and (caller := await access.identify(authorization)).scope is Scope.OPERATOR:
            context = await access.enter_as_operator(caller, workspace_id, request_id)
        else:
            context = await access.enter(authorization, workspace_id, request_id)
            self._check(context.caller, connection)
        connection.state.context = context

    def _check(self, caller: Caller, connection: Connection) -> None:
        if not caller.scope.includes(self.scope):
            raise Forbidden(f"This needs a key with scope `{self.scope}`; this key has `{caller.scope}`.")
        if self.scope is Scope.INVOKE and not caller.may_invoke(connection.path_params["agent_id"]):
            raise Forbidden("This key is limited to other agents.")


@dataclass(frozen=True)
class NeedsOperator(Guard):
    asks = "an operator key"

    async def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        access: Access = connection.app.state.access
        context = await access.operate(_authorization(connection), connection.scope["state"]["request_id"])
        if context.caller.scope is not Scope.OPERATOR:
            raise Forbidden("This needs an operator key, made with `plugboard setup --operator`.")
        connection.state.context = context


@dataclass(frozen=True)
class NeedsAnyKey(Guard):
    asks = "any valid key"

    async def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        access: Access = connection.app.state.access
        await access.identify(_authorization(connection))


@dataclass(frozen=True)
class OpenToAll(Guard):
    """The route shows nothing of any workspace."""

    because: str
    asks: str = field(default="nobody's key", init=False)

    async def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        pass


class UnguardedRoute(Exception):
    pass


def check_every_route_is_guarded(app: Litestar) -> None:
    unguarded = [
        f"{handler.handler_name} at {route.path}"
        for route in app.routes
        for handler in _handlers(route)
        if guard_of(handler) is None and not _answers_options_only(handler)
    ]
    if unguarded:
        raise UnguardedRoute(f"These routes say nothing about who may call them: {', '.join(unguarded)}")


def guard_of(handler: BaseRouteHandler) -> Guard | None:
    return next((guard for guard in handler.guards or () if isinstance(guard, Guard)), None)


def _handlers(route: Any) -> Iterable[BaseRouteHandler]:
    return getattr(route, "route_handlers", None) or [route.route_handler]


def _answers_options_only(handler: BaseRouteHandler) -> bool:
    return getattr(handler, "http_methods", None) == {"OPTIONS"}


def _authorization(connection: Connection) -> str:
    values = [value for name, value in connection.scope["headers"] if name == b"authorization"]
    if len(values) != 1:  # two are a disagreement about who is calling
        raise Unauthorized
    return values[0].decode("latin-1")
