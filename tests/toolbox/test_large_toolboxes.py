"""An agent with thousands of allowed tools, whose names clients do not accept as they are."""

from time import thread_time

from api.agents.agent import Agent
from api.servers.server import Server
from api.toolbox.agent_toolbox import Toolbox
from api.toolbox.tool_names import tool_name
from tests.fuzz.stall_work import REFERENCE_SECONDS, slowness

AT = "2026-11-19T09:00:00.000Z"


def server(number: int) -> Server:
    return Server(
        id=f"server_{number}",
        name="S",
        slug=f"s{number}",
        description="",
        url="https://a.example",
        auth_type="none",
        service_type="external",
        enabled=True,
        timeout_seconds=30,
        exposure="both",
        created_at=AT,
        updated_at=AT,
    )


def test_only_the_names_of_the_called_server_are_computed() -> None:
    servers = {f"server_{number}": server(number) for number in range(40)}
    rules = {server_id: [f"é{number}!" for number in range(490)] for server_id in servers}
    agent = Agent("agent_1", "A", "", "", list(servers), rules, AT, AT)
    called, seconds = tool_name("s7", "é3!"), list[float]()
    for _ in range(4):
        begun = thread_time()
        toolbox = Toolbox.of("ws_1", agent, servers)
        found, missing = toolbox.find(called), toolbox.find(tool_name("s7", "é500!"))
        seconds.append(thread_time() - begun)

    assert found is toolbox.by_id["server_7"]
    assert missing is None
    assert min(seconds) < 2 * REFERENCE_SECONDS * slowness()
