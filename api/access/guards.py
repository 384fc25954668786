"""Guards: what each route requires of its caller.

A route that requires nothing is `Public`, for a stated reason. A route without a guard prevents the app from starting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from litestar import Litestar
from litestar.handlers import BaseRouteHandler

from api.access.authenticator import Authenticator
from api.access.context import WorkspaceContext
from api.access.principal import Principal, Scope
from api.errors import AppError, Forbidden, NotFound, Unauthorized
from api.http.operations import ID_PATTERN, Connection, Guard, guard_of

_is_id = re.compile(ID_PATTERN.strip("^$")).fullmatch
"""Other texts are not looked up: a store might refuse them with an error of its own."""


@dataclass(frozen=True)
class RequiresScope(Guard):
    """A principal of the workspace in the path with this scope, which for `invoke` may use the agent in the path."""

    scope: Scope
    operator_too: bool = False

    @property
    def requires(self) -> str:  # type: ignore[override]
        return f"a key of the workspace with scope `{self.scope}`" + (" or an operator key" * self.operator_too)

    async def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        connection.scope["state"]["context"] = await self._enter(connection)
        if not all(map(_is_id, connection.scope["path_params"].values())):
            raise NotFound

    async def _enter(self, connection: Connection) -> WorkspaceContext:
        access: Authenticator = connection.app.state["authenticator"]
        workspace_id = connection.scope["path_params"]["workspace_id"]
        headers = connection.scope["headers"]
        state = connection.scope["state"]
        request_id, client_address = state["request_id"], state["client_address"]
        if not _is_id(workspace_id):
            await access.identify(headers)
            raise NotFound
        if self.operator_too and (principal := await access.identify(headers)).scope is Scope.OPERATOR:
            return await access.enter_as_operator(principal, workspace_id, request_id, client_address)
        context = await access.authenticate(headers, workspace_id, request_id, client_address)
        connection.scope["state"]["context"] = context  # the access log names the principal of a refused request too
        self._check(context.principal, connection)
        return context

    def _check(self, principal: Principal, connection: Connection) -> None:
        if not principal.scope.includes(self.scope):
            raise Forbidden(f"This operation requires scope `{self.scope}`; this key has `{principal.scope}`.")
        if self.scope is Scope.INVOKE and not principal.may_invoke(connection.scope["path_params"]["agent_id"]):
            raise Forbidden("This key is limited to other agents.")


@dataclass(frozen=True)
class RequiresOperator(Guard):
    requires = "an operator key"

    async def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        access: Authenticator = connection.app.state["authenticator"]
        context = await access.authenticate_operator(
            connection.scope["headers"],
            connection.scope["state"]["request_id"],
            connection.scope["state"]["client_address"],
        )
        if context.principal.scope is not Scope.OPERATOR:
            raise Forbidden("This operation requires an operator key. Create one with `plugboard setup --operator`.")
        connection.scope["state"]["context"] = context


@dataclass(frozen=True)
class RequiresAnyKey(Guard):
    requires = "any valid key"
    problems: ClassVar[tuple[type[AppError], ...]] = (Unauthorized,)

    async def __call__(self, connection: Connection, _: BaseRouteHandler) -> None:
        access: Authenticator = connection.app.state["authenticator"]
        state = connection.scope["state"]
        state["context"] = await access.enter_own(
            connection.scope["headers"], state["request_id"], state["client_address"]
        )


@dataclass(frozen=True)
class Public(Guard):
    """Anyone may call the route: it reveals nothing about any workspace."""

    reason: str
    requires = "no key"
    problems: ClassVar[tuple[type[AppError], ...]] = ()

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
        raise UnguardedRoute(f"These routes have no guard: {', '.join(unguarded)}")


def _handlers(route: Any) -> Iterable[BaseRouteHandler]:
    return getattr(route, "route_handlers", None) or [route.route_handler]


def _answers_options_only(handler: BaseRouteHandler) -> bool:
    return getattr(handler, "http_methods", None) == {"OPTIONS"}
