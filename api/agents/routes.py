"""`/api/workspaces/{ws}/agents`: the routes of agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter

from litestar import Response
from litestar.params import FromPath, JSONBody
from pydantic import TypeAdapter

from api.access.guards import RequiresScope
from api.access.idempotency.creates import IdempotencyChanges, IdempotentCreate
from api.access.principal import Scope
from api.agents.agent import Agent
from api.agents.schemas import AgentChange, AgentDraft, AgentView
from api.agents.service import AgentService
from api.errors import TooManyRecords, ValidationFailed
from api.http.dependencies import IfMatch, Injected
from api.http.openapi import examples
from api.http.operations import (
    IDEMPOTENCY_KEY,
    IF_MATCH,
    OperationDoc,
    SuccessResponse,
    delete,
    documented,
    get,
    is_merge_patch,
    post,
    put,
)
from api.http.pagination import PAGES, PAGING, Paging
from api.http.query import ORDER, id_parameter, is_newest_first, query_id, query_text, text_parameter
from api.http.request import AnyRequest
from api.http.responses import StoredResponse, created, item
from api.http.selection import select

AGENTS = "/api/workspaces/{workspace_id:str}/agents"
AGENT = f"{AGENTS}/{{agent_id:str}}"
TAG = "Agents"
MANY = TypeAdapter(list[AgentView])
FILTERS = (
    text_parameter("q", "Only agents with this text in name or description, in any case."),
    id_parameter("server", "Only agents that enable the server with this id.", "server"),
)


def agent_filter(request: AnyRequest) -> Callable[[Agent], bool] | None:
    """None if the request has no filter."""
    text, server = query_text(request, "q"), query_id(request, "server", "server")
    if text is None and server is None:
        return None
    part = (text or "").casefold()

    def keeps(agent: Agent) -> bool:
        enables = server is None or server in agent.enabled_mcp_server_ids
        return enables and (part in agent.name.casefold() or part in agent.description.casefold())

    return keeps


def item_response(agent: Agent, warnings: Sequence[str] = ()) -> Response[bytes]:
    return item(AgentView.of(agent, warnings), agent.version).response()


def with_response(agent: Agent) -> tuple[Agent, Response[bytes]]:
    """With the response where there are no warnings."""
    return agent, item_response(agent)


@get(
    AGENTS,
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "listAgents",
            TAG,
            "List agents",
            f"In order of creation, or the newest first. {PAGES}",
            SuccessResponse.many(MANY, examples.AGENT),
            parameters=[*PAGING, *FILTERS, ORDER],
        )
    ),
)
async def list_agents(request: AnyRequest, agents: Injected[AgentService], paging: Injected[Paging]) -> Response[bytes]:
    read = partial(agents.page, newest_first=is_newest_first(request))
    page = await select(paging, read, lambda agent: agent.id, agent_filter(request), attrgetter("size"))
    return paging.answer([AgentView.of(agent) for agent in page.items], MANY, page.last).response()


@post(
    AGENTS,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "createAgent",
            TAG,
            "Store an agent",
            "A named set of servers, with rules for their tools, and instructions. Every enabled server must belong "
            "to this workspace.",
            SuccessResponse.created(AgentView, examples.AGENT),
            examples.AGENT_DRAFT,
            [IDEMPOTENCY_KEY],
            [TooManyRecords, ValidationFailed],
        )
    ),
)
async def create_agent(
    data: JSONBody[AgentDraft], agents: Injected[AgentService], idempotent_create: Injected[IdempotentCreate]
) -> Response[bytes]:

    def response_to(agent: Agent, warnings: Sequence[str]) -> StoredResponse:
        return created(AgentView.of(agent, warnings), agent.version, f"{idempotent_create.path}/{agent.id}")

    async def work(receipt: IdempotencyChanges) -> StoredResponse:
        return response_to(*await agents.create(data, lambda *created: receipt(response_to(*created))))

    return (await idempotent_create.run(work)).response()


@get(
    AGENT,
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "getAgent",
            TAG,
            "Get an agent",
            "The agent as stored, with warnings about its tool rules.",
            SuccessResponse.item(AgentView, examples.AGENT),
        )
    ),
)
async def get_agent(agent_id: FromPath[str], agents: Injected[AgentService]) -> Response[bytes]:
    agent, response = await agents.render_cached(agent_id, with_response)
    warnings = await agents.warnings(agent) if agent.enabled_mcp_server_tool_names else ()
    return item_response(agent, warnings) if warnings else response


@put(
    AGENT,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "updateAgent",
            TAG,
            "Update an agent",
            "Accepts any subset of the fields. Tool rules of servers that are no longer enabled are deleted. "
            "Read-only fields may be sent back as they were read.",
            SuccessResponse.item(AgentView, examples.AGENT),
            {"enabledMcpServerIds": [examples.SERVER_ID]},
            [IF_MATCH],
            [ValidationFailed],
        )
    ),
)
async def update_agent(
    request: AnyRequest,
    agent_id: FromPath[str],
    data: JSONBody[AgentChange],
    agents: Injected[AgentService],
    if_match: IfMatch = None,
) -> Response[bytes]:
    return item_response(*await agents.update(agent_id, data, if_match, merge=is_merge_patch(request)))


@delete(
    AGENT,
    status_code=204,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "deleteAgent",
            TAG,
            "Delete an agent",
            "Its servers are kept.",
            SuccessResponse.no_content(),
            parameters=[IF_MATCH],
        )
    ),
)
async def delete_agent(agent_id: FromPath[str], agents: Injected[AgentService], if_match: IfMatch = None) -> None:
    await agents.delete(agent_id, if_match)


ROUTES = [list_agents, create_agent, get_agent, update_agent, delete_agent]
