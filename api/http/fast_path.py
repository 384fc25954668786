"""How do the few routes on which every microsecond counts get past the framework, and past nothing else?

Finding a route, its middlewares and its answer costs the framework as much as a whole call of a tool costs us. Here the
same handler is called behind the same guards, and what goes wrong is answered by the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from litestar import Litestar, Request, Response
from litestar.enums import ScopeType
from litestar.handlers import HTTPRouteHandler
from litestar.types import Receive, Scope, Send

from api.http.dependencies import AnyRequest
from api.http.operations import Guard, guard_of

FAST_PATH = "direct"

AnswerProblem = Callable[[AnyRequest, Exception], Response[bytes]]


@dataclass(frozen=True, slots=True)
class _Route:
    """A route, with its path in parts; a part that is a parameter has a name."""

    handler: HTTPRouteHandler
    guard: Guard
    template: str
    places: Sequence[int]
    fixed: Sequence[str]
    parameters: Sequence[tuple[int, str]]


class FastPath:
    def __init__(self, app: Litestar, routes: Iterable[object], answer_problem: AnswerProblem) -> None:
        self._app = app
        self._answer_problem = answer_problem
        self._ways: dict[tuple[str, int, str], list[_Route]] = {}
        for handler in routes:
            if isinstance(handler, HTTPRouteHandler) and handler.opt.get(FAST_PATH):
                self._add(handler)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            parts = scope["path"].split("/")
            for way in self._ways.get((scope["method"], len(parts), parts[-1]), ()):
                if [parts[place] for place in way.places] == way.fixed:
                    await self._dispatch(way, parts, scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def _dispatch(self, way: _Route, parts: Sequence[str], scope: Any, receive: Receive, send: Send) -> None:
        scope["litestar_app"], scope["path_template"] = self._app, way.template
        scope["path_params"] = {name: parts[place] for place, name in way.parameters}
        request: AnyRequest = Request(scope, receive, send)
        try:
            await way.guard(request, way.handler)
            answer = await way.handler.fn(request)
        except Exception as error:  # noqa: BLE001  a request ends here
            answer = self._answer_problem(request, error)
        await answer(scope, receive, send)

    def _add(self, handler: HTTPRouteHandler) -> None:
        guard = guard_of(handler)
        if guard is None:  # then the app does not start either
            return
        for path in handler.paths:
            parts = path.split("/")
            named = [(place, part) for place, part in enumerate(parts) if part.startswith("{")]
            way = _Route(
                handler,
                guard,
                path.replace(":str}", "}"),
                [place for place, part in enumerate(parts) if not part.startswith("{")],
                [part for part in parts if not part.startswith("{")],
                [(place, part.strip("{}").removesuffix(":str")) for place, part in named],
            )
            for method in handler.http_methods:
                self._ways.setdefault((method, len(parts), parts[-1]), []).append(way)


def on_fast_path(options: dict[str, Any]) -> dict[str, Any]:
    """For a route's `opt`."""
    return options | {FAST_PATH: True}
