"""Every route has a guard, or the app does not start; and who may call an agent's tools."""

from __future__ import annotations

import pytest
from litestar import Controller, get, post

from api.access.guards import Public, UnguardedRoute
from api.main.app import ROUTES, build_router_app
from api.main.settings import Settings
from tests.harness import Workspace


@get("/forgotten")
async def forgotten() -> None:
    pass


@pytest.mark.requirement("AUT-05")
def test_a_route_without_a_guard_keeps_the_app_from_starting() -> None:
    with pytest.raises(UnguardedRoute, match=r"forgotten at /forgotten$"):
        build_router_app(Settings(), routes=[*ROUTES, forgotten])


@pytest.mark.requirement("AUT-05")
def test_an_unguarded_method_of_a_guarded_path_is_detected() -> None:
    @get("/half", guards=[Public("a test")])
    async def read() -> None:
        pass

    @post("/half")
    async def write() -> None:
        pass

    with pytest.raises(UnguardedRoute, match=r": write at /half$"):
        build_router_app(Settings(), routes=[read, write])


@pytest.mark.requirement("AUT-05")
def test_a_foreign_guard_does_not_count() -> None:
    def anything_goes(*_: object) -> None:
        pass

    @get("/foreign", guards=[anything_goes])
    async def foreign() -> None:
        pass

    with pytest.raises(UnguardedRoute, match="foreign"):
        build_router_app(Settings(), routes=[foreign])


@pytest.mark.requirement("AUT-05")
def test_the_routes_of_a_controller_are_checked() -> None:
    class Hidden(Controller):
        path = "/hidden"

        @get()
        async def inside(self) -> None:
            pass

    with pytest.raises(UnguardedRoute, match="/hidden"):
        build_router_app(Settings(), routes=[Hidden])


@pytest.mark.requirement("AUT-06")
def test_an_invoke_key_is_limited_to_its_agents(workspace: Workspace) -> None:
    its, other = workspace.make_agent()["id"], workspace.make_agent()["id"]
    limited = workspace.caller("invoke", agentIds=[its])

    assert limited.get(f"{workspace.agents}/{its}/tools").json() == {"tools": [], "unavailable": []}
    response = limited.get(f"{workspace.agents}/{other}/tools")
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")
    assert limited.get(f"{workspace.agents}/{its[:-4]}0000/tools").content == response.content


@pytest.mark.requirement("AUT-06")
@pytest.mark.parametrize(("scope", "status"), [("invoke", 200), ("admin", 200), ("manage", 403), ("read", 403)])
def test_calling_tools_requires_the_scope_invoke(workspace: Workspace, scope: str, status: int) -> None:
    agent = workspace.make_agent()["id"]

    assert workspace.caller(scope).get(f"{workspace.agents}/{agent}/tools").status_code == status


def test_an_operator_calls_no_tools(workspace: Workspace) -> None:
    agent = workspace.make_agent()["id"]

    assert workspace.plugboard.operator.get(f"{workspace.agents}/{agent}/tools").status_code == 403
