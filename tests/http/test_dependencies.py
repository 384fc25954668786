"""What handlers ask for in their signatures, against what the providers make."""

from __future__ import annotations

from typing import get_type_hints

import pytest
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from api.http.models import RequestModel
from api.http.operations import DOC, request_model_of
from api.main.app import build_router_app
from api.main.dependencies import DEPENDENCIES, PROVIDERS
from api.main.settings import Settings


def handlers() -> list[HTTPRouteHandler]:
    routes = [route for route in build_router_app(Settings()).routes if isinstance(route, HTTPRoute)]
    documented = [handler for route in routes for handler in route.route_handlers if DOC in handler.opt]
    return sorted(documented, key=lambda handler: str(handler.handler_name))


def injected(handler: HTTPRouteHandler) -> dict[str, object]:
    parameters = handler.parsed_fn_signature.parameters
    return {name: field.annotation for name, field in parameters.items() if name in DEPENDENCIES}


@pytest.mark.parametrize("handler", handlers(), ids=lambda handler: handler.handler_name)
def test_each_dependency_has_the_type_of_its_provider(handler: HTTPRouteHandler) -> None:
    provided = {provider.__name__: get_type_hints(provider)["return"] for provider in PROVIDERS}

    assert injected(handler) == {name: provided[name] for name in injected(handler)}


def test_every_provider_serves_a_handler() -> None:
    used = {name for handler in handlers() for name in injected(handler)}

    assert used == DEPENDENCIES.keys()


def test_bodies_are_request_models() -> None:
    models = [model for handler in handlers() if (model := request_model_of(handler))]

    assert len(models) > 5
    assert all(issubclass(model, RequestModel) for model in models)
