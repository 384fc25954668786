"""Everything inside uvicorn, Litestar and httptools that the code relies on beyond their documentation.

Each of them has an upper version bound. To raise one, read what changed in the parts named here.
"""

from __future__ import annotations

import ast
import inspect
import tomllib
from collections.abc import Sequence
from importlib.metadata import version

import httptools
import pytest
from litestar import Request, Response
from litestar._kwargs import KwargsModel
from litestar._kwargs.dependencies import DependencyContainer
from litestar.handlers import HTTPRouteHandler
from litestar.plugins.pydantic import PydanticInitPlugin
from packaging.requirements import Requirement
from packaging.version import Version
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.supervisors import Multiprocess

from tests.architecture.modules import PROJECT

BOUNDED = ("uvicorn", "litestar", "httptools")
METHODS: Sequence[tuple[type, str, Sequence[str]]] = (
    # api/http/server/protocol.py
    (HttpToolsProtocol, "connection_made", ["self", "transport"]),
    (HttpToolsProtocol, "connection_lost", ["self", "exc"]),
    (HttpToolsProtocol, "data_received", ["self", "data"]),
    (HttpToolsProtocol, "on_message_begin", ["self"]),
    (HttpToolsProtocol, "on_header", ["self", "name", "value"]),
    (HttpToolsProtocol, "on_headers_complete", ["self"]),
    (HttpToolsProtocol, "on_body", ["self", "body"]),
    (HttpToolsProtocol, "on_message_complete", ["self"]),
    (HttpToolsProtocol, "shutdown", ["self"]),
    (HttpToolsProtocol, "pause_writing", ["self"]),
    # api/main/server_process.py
    (Multiprocess, "terminate_all", ["self"]),
    # api/http/operations.py
    (HTTPRouteHandler, "create_kwargs_model", ["self", "path_parameters"]),
    (HTTPRouteHandler, "authorize_connection", ["self", "connection"]),
    (HTTPRouteHandler, "resolve_guards", ["self"]),
    # api/http/fast_path.py
    (HTTPRouteHandler, "resolve_dependencies", ["self"]),
    # api/http/request.py
    (Request, "body", ["self"]),
    (Request, "json", ["self"]),
    # api/http/validation.py: decoders that are put in front of a list come first
    (PydanticInitPlugin, "on_app_init", ["self", "app_config"]),
)
ATTRIBUTES: Sequence[tuple[type, Sequence[str]]] = (
    (
        HttpToolsProtocol,
        ["connections", "cycle", "limit_concurrency", "logger", "loop", "pipeline", "tasks", "transport"],
    ),
    (RequestResponseCycle, ["response_complete", "scope"]),
    (Multiprocess, ["sockets"]),
    (KwargsModel, ["dependency_batches", "extractors"]),
    (DependencyContainer, ["key", "provide"]),
)


@pytest.mark.parametrize(("owner", "name", "parameters"), METHODS, ids=lambda value: getattr(value, "__name__", None))
def test_every_overridden_or_called_method_exists(owner: type, name: str, parameters: Sequence[str]) -> None:
    assert list(inspect.signature(getattr(owner, name)).parameters) == parameters


@pytest.mark.parametrize(("owner", "names"), ATTRIBUTES, ids=lambda value: getattr(value, "__name__", None))
def test_every_used_attribute_is_assigned_by_its_class(owner: type, names: Sequence[str]) -> None:
    sources = [ast.parse(inspect.getsource(inspect.getmodule(kind) or kind)) for kind in owner.__mro__[:-1]]
    assigned = {node.attr for tree in sources for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    assert set(names) <= assigned


def test_litestar_converts_a_response_to_asgi() -> None:
    assert "to_asgi_response" in vars(Response)


def test_a_parser_calls_back_for_each_part_of_a_message() -> None:
    """api/kit/http_client/response_parser.py and api/http/server/protocol.py."""
    assert {"feed_data", "get_status_code", "should_keep_alive"} <= set(dir(httptools.HttpResponseParser))
    assert {"feed_data", "get_method"} <= set(dir(httptools.HttpRequestParser))


@pytest.mark.parametrize("name", BOUNDED)
def test_each_has_an_upper_bound_at_its_next_release(name: str) -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    requirements = {item.name: item for item in map(Requirement, project["dependencies"])}
    installed = Version(version(name))

    assert installed in requirements[name].specifier
    assert Version(f"{installed.major}.{installed.minor + 1}") not in requirements[name].specifier
