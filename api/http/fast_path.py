"""A shortcut around Litestar's routing for the few routes on which every microsecond counts.

Routing, middleware and response handling cost as much as a whole tool call. The same handler is called behind the same
guard with the same arguments, and errors are answered by the same function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from litestar import Litestar, Response
from litestar.enums import ScopeType
from litestar.handlers import HTTPRouteHandler
from litestar.types import Receive, Scope, Send

from api.http.models import RequestModel
from api.http.operations import Guard, check_parameters, guard_of, request_model_of
from api.http.request import AnyRequest, ApiRequest
from api.http.validation import validate

FAST_PATH = "direct"

AnswerProblem = Callable[[AnyRequest, Exception], Response[bytes]]
Provider = Callable[[AnyRequest], object]


@dataclass(frozen=True, slots=True)
class _Route:
    """A route, with its path in segments; a segment that is a parameter has a name."""

    handler: HTTPRouteHandler
    function: Callable[..., Awaitable[Any]]
    guard: Guard
    template: str
    fixed_segments: Callable[[Sequence[str]], tuple[str, ...]]
    """Those that are no parameters."""
    fixed: tuple[str, ...]
    parameters: Sequence[tuple[int, str]]
    providers: Mapping[str, Provider]
    body: type[RequestModel] | None


class FastPath:
    def __init__(self, app: Litestar, answer_problem: AnswerProblem) -> None:
        self._app = app
        self._answer_problem = answer_problem
        self._routes: dict[tuple[str, int, str], list[_Route]] = {}
        for litestar_route in app.routes:
            for handler in getattr(litestar_route, "route_handlers", ()):
                if handler.opt.get(FAST_PATH):
                    self._add(handler)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            segments = scope["path"].split("/")
            for route in self._routes.get((scope["method"], len(segments), segments[-1]), ()):
                if route.fixed_segments(segments) == route.fixed:
                    await self._dispatch(route, segments, scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def _dispatch(self, route: _Route, segments: Sequence[str], scope: Any, receive: Receive, send: Send) -> None:
        scope["litestar_app"], scope["path_template"] = self._app, route.template
        scope["path_params"] = {name: segments[position] for position, name in route.parameters}
        request = ApiRequest(scope, receive, send)
        try:
            await route.guard(request, route.handler)
            if scope["query_string"]:
                check_parameters(request, route.handler)
            arguments = {name: provide(request) for name, provide in route.providers.items()}
            if route.body:
                arguments["data"] = validate(route.body, await request.json())
            response = await route.function(**arguments)
        except Exception as error:  # noqa: BLE001  a request ends here
            response = self._answer_problem(request, error)
        await response(scope, receive, send)

    def _add(self, handler: HTTPRouteHandler) -> None:
        guard = guard_of(handler)
        if guard is None:  # then the app does not start either
            return
        for path in handler.paths:
            segments = path.split("/")
            parameters = [
                (position, segment.strip("{}").removesuffix(":str"))
                for position, segment in enumerate(segments)
                if segment.startswith("{")
            ]
            positions = [position for position, segment in enumerate(segments) if not segment.startswith("{")]
            fixed_segments = itemgetter(*positions)  # of at least two: each path begins with a slash
            route = _Route(
                handler,
                handler.fn,
                guard,
                path.replace(":str}", "}"),
                fixed_segments,
                fixed_segments(segments),
                parameters,
                _providers(handler, {name for _, name in parameters}),
                request_model_of(handler),
            )
            for method in handler.http_methods:
                self._routes.setdefault((method, len(segments), segments[-1]), []).append(route)


def _providers(handler: HTTPRouteHandler, path_parameters: set[str]) -> Mapping[str, Provider]:
    """What makes each parameter of the handler but its body. A parameter of any other kind fails here, at the start."""
    dependencies = handler.resolve_dependencies()
    providers: dict[str, Provider] = {}
    for name in handler.parsed_fn_signature.parameters.keys() - {"data"}:
        if name == "request":
            providers[name] = _itself
        elif name in path_parameters:
            providers[name] = _path_parameter(name)
        else:
            providers[name] = dependencies[name].dependency
    return providers


def _itself(request: AnyRequest) -> object:
    return request


def _path_parameter(name: str) -> Provider:
    value = itemgetter(name)
    return lambda request: value(request.scope["path_params"])


def on_fast_path(options: dict[str, Any]) -> dict[str, Any]:
    """For a route's `opt`."""
    return options | {FAST_PATH: True}
