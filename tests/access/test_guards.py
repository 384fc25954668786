"""A route says who may call it, or nothing starts; and what the guards that wait for their routes do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from litestar import Controller, get, post
from litestar.params import FromPath

from api.access.context import Scope
from api.access.guards import Needs, OpenToAll, UnguardedRoute
from api.app import ROUTES, inner_app
from api.http.edge import Edge
from api.settings import Settings
from tests.harness import Plugboard, Workspace, listening
from tests.harness import served as served_on

AGENT = "/api/workspaces/{workspace_id:str}/agents/{agent_id:str}"


@get(f"{AGENT}/tools", guards=[Needs(Scope.INVOKE)])
async def list_tools(agent_id: FromPath[str]) -> dict[str, str]:
    return {"agent": agent_id}


@get("/forgotten")
async def forgotten() -> None:
    pass


@pytest.mark.requirement("AUT-05")
def test_a_route_that_says_nothing_about_its_callers_keeps_the_app_from_starting() -> None:
    with pytest.raises(UnguardedRoute, match=r"forgotten at /forgotten$"):
        inner_app(Settings(), routes=[*ROUTES, forgotten])


@pytest.mark.requirement("AUT-05")
def test_one_unguarded_method_of_a_guarded_path_is_noticed() -> None:
    @get("/half", guards=[OpenToAll("a test")])
    async def read() -> None:
        pass

    @post("/half")
    async def write() -> None:
        pass

    with pytest.raises(UnguardedRoute, match=r": write at /half$"):
        inner_app(Settings(), routes=[read, write])


@pytest.mark.requirement("AUT-05")
def test_a_guard_that_is_none_of_ours_does_not_count() -> None:
    def anything_goes(*_: object) -> None:
        pass

    @get("/foreign", guards=[anything_goes])
    async def foreign() -> None:
        pass

    with pytest.raises(UnguardedRoute, match="foreign"):
        inner_app(Settings(), routes=[foreign])


@pytest.mark.requirement("AUT-05")
def test_a_controller_is_looked_into() -> None:
    class Hidden(Controller):
        path = "/hidden"

        @get()
        async def inside(self) -> None:
            pass

    with pytest.raises(UnguardedRoute, match="/hidden"):
        inner_app(Settings(), routes=[Hidden])


@pytest.fixture(scope="module")
def with_tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A Plugboard that has a route for the tools of an agent already."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("guards"))
    with (
        served_on(settings) as plain,
        listening(Edge(inner_app(settings, routes=[*ROUTES, list_tools]))) as url,
    ):
        plugboard = Plugboard(url, settings, plain.operator_key)
        yield plugboard.make_workspace()
        plugboard.close()


@pytest.mark.requirement("AUT-06")
def test_an_invoke_key_is_limited_to_its_agents(with_tools: Workspace) -> None:
    its, other = with_tools.make_agent()["id"], with_tools.make_agent()["id"]
    limited = with_tools.caller("invoke", agentIds=[its])

    assert limited.get(f"{with_tools.agents}/{its}/tools").json() == {"agent": its}
    refused = limited.get(f"{with_tools.agents}/{other}/tools")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert limited.get(f"{with_tools.agents}/{its[:-4]}0000/tools").content == refused.content


@pytest.mark.requirement("AUT-06")
@pytest.mark.parametrize(("scope", "status"), [("invoke", 200), ("admin", 200), ("manage", 403), ("read", 403)])
def test_calling_tools_needs_the_right_to(with_tools: Workspace, scope: str, status: int) -> None:
    agent = with_tools.make_agent()["id"]

    assert with_tools.caller(scope).get(f"{with_tools.agents}/{agent}/tools").status_code == status


def test_an_operator_calls_no_tools(with_tools: Workspace) -> None:
    agent = with_tools.make_agent()["id"]

    assert with_tools.plugboard.operator.get(f"{with_tools.agents}/{agent}/tools").status_code == 403
