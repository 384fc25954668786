"""The routes `check`, `tools` and `tool-calls`."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import parse_qsl

import msgspec
from litestar import Response
from litestar.params import FromPath, JSONBody
from pydantic import TypeAdapter

from api.access.guards import RequiresScope
from api.access.idempotency.calls import IdempotentCall
from api.access.idempotency.records import idempotency_key
from api.access.principal import Scope
from api.errors import ConflictProblem, ValidationFailed
from api.http.dependencies import Injected
from api.http.fast_path import on_fast_path
from api.http.middleware import log_outcome
from api.http.openapi import examples
from api.http.operations import IDEMPOTENCY_KEY, OperationDoc, Parameter, SuccessResponse, documented, get, post
from api.http.request import AnyRequest, query_bool
from api.http.responses import OK, BytesResponse, StoredResponse, encode
from api.kit.deadline import Ticker
from api.toolbox.calling.disconnect import CancelOnDisconnect
from api.toolbox.listing.client_formats import Format, as_upstream, render
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.schemas import CallDraft, CallView, CheckView, ToolListView
from api.toolbox.service import ToolboxService
from api.toolbox.wrappers.call_recorder import outcome_of

SERVER = "/api/workspaces/{workspace_id:str}/mcp-servers/{server_id:str}"
AGENT = "/api/workspaces/{workspace_id:str}/agents/{agent_id:str}"
TAG = "Tools"
REFRESH = Parameter("refresh", "`true`: ask the server now and ignore what is cached.", {"type": "boolean"})
FORMAT = Parameter(
    "format",
    "The client format of the tools.",
    {"type": "string", "enum": [form.value for form in Format], "default": "mcp"},
)
ON_UNAVAILABLE = "A server that does not answer affects only its own tools; `unavailable` names it and the reason."
ONCE = (
    "With an `Idempotency-Key`, no call is made twice. A repeated request gets the response of the first, or a 409 "
    "while that is in progress (with `Retry-After`), if its outcome is unknown, or if its response was too large to be "
    "stored. A problem response frees the key, as do failures after which nothing was done (`invalid_arguments`, "
    "`not_connected`, `reconnect_required`, `rate_limited`); after any other failure, use a new key."
)


@post(
    f"{SERVER}/check",
    status_code=OK,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "checkServer",
            TAG,
            "Check a server",
            "Detects the server's protocol and lists its tools, without anything that is cached. The outcome does not "
            "count for its circuit breaker. A check changes nothing, so an `Idempotency-Key` is ignored.",
            SuccessResponse(OK, "The state of the server.", TypeAdapter(CheckView), examples.CHECK),
        )
    ),
)
async def check_server(server_id: FromPath[str], toolbox: Injected[ToolboxService]) -> Response[bytes]:
    health = await toolbox.check(server_id)
    return BytesResponse(OK, encode(CheckView.of(health)), {})


@get(
    f"{SERVER}/tools",
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "listServerTools",
            TAG,
            "List a server's tools",
            "As agents see them. `upstreamName` is the name for `enabledMcpServerToolNames`. " + ON_UNAVAILABLE,
            SuccessResponse(OK, "The tools.", TypeAdapter(ToolListView), examples.SERVER_TOOLS),
            parameters=[REFRESH],
            problems=[ValidationFailed],
        )
    ),
)
async def list_server_tools(
    request: AnyRequest, server_id: FromPath[str], toolbox: Injected[ToolboxService]
) -> Response[bytes]:
    refresh = query_bool(request, REFRESH.name)
    tools = await toolbox.list_server_tools(server_id, refresh=refresh)
    return BytesResponse(OK, await render(tools, as_upstream), {})


@get(
    f"{AGENT}/tools",
    guards=[RequiresScope(Scope.INVOKE)],
    opt=on_fast_path(
        documented(
            OperationDoc(
                "listAgentTools",
                TAG,
                "List an agent's tools",
                "All tools that the agent may call, listed within ten seconds. " + ON_UNAVAILABLE,
                SuccessResponse(OK, "The tools.", TypeAdapter(ToolListView), examples.TOOLS),
                parameters=[FORMAT],
                problems=[ValidationFailed],
            )
        )
    ),
)
async def list_agent_tools(
    request: AnyRequest, agent_id: FromPath[str], toolbox: Injected[ToolboxService]
) -> Response[bytes]:
    form = _format(request.scope["query_string"])
    return BytesResponse(OK, await toolbox.list_rendered(agent_id, form), {})


@post(
    f"{AGENT}/tool-calls",
    status_code=OK,
    guards=[RequiresScope(Scope.INVOKE)],
    opt=on_fast_path(
        documented(
            OperationDoc(
                "callTool",
                TAG,
                "Call a tool",
                "Responds within the server's time limit, whatever the upstream does. A failure is a 200 response too: "
                "`isError` with a `text` that an agent can act on. Only a tool that the agent does not have is a 404."
                f" {ONCE}",
                SuccessResponse(OK, "The result of the call.", TypeAdapter(CallView), examples.CALL),
                examples.CALL_DRAFT,
                [IDEMPOTENCY_KEY],
                [ConflictProblem, ValidationFailed],
            )
        )
    ),
)
async def call_tool(
    request: AnyRequest,
    agent_id: FromPath[str],
    data: JSONBody[CallDraft],
    toolbox: Injected[ToolboxService],
    idempotent_call: Injected[IdempotentCall],
    ticker: Injected[Ticker],
) -> Response[bytes]:
    async def call() -> ToolResult:
        with CancelOnDisconnect(ticker, request.receive):
            result = await toolbox.call(agent_id, data.tool_name, data.args)
        log_outcome(request.scope, outcome_of(result), failed=result.failure is not None)
        return result

    async def work() -> tuple[StoredResponse, bool]:
        result = await call()
        return StoredResponse(OK, encoded(result)), result.failure is None or not result.failure.is_never_done

    key = idempotency_key(request)
    if key is None:
        return BytesResponse(OK, encoded(await call()), {})
    return (await idempotent_call.run(key, work)).response()


class _Error(msgspec.Struct, rename="camel", omit_defaults=True):
    kind: str
    retry_after: float | None = None


class _CallBody(msgspec.Struct, rename="camel", omit_defaults=True):
    text: str
    content: msgspec.Raw
    is_error: bool
    structured_content: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: _Error | msgspec.UnsetType = msgspec.UNSET


def encoded(result: ToolResult) -> bytes:
    """Parts that are JSON already are inserted unchanged."""
    failure, structured = result.failure, result.structured
    return msgspec.json.encode(
        _CallBody(
            result.text,
            msgspec.Raw(result.content),
            result.is_error,
            msgspec.UNSET if structured is None else msgspec.Raw(structured),
            msgspec.UNSET if failure is None else _Error(failure.kind.value, failure.retry_after),
        )
    )


@lru_cache(maxsize=16)
def _format(query: bytes) -> Format:
    """Parsed once for each query string, of which there are few."""
    values = [
        value for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True) if name == FORMAT.name
    ]
    try:
        return Format(values[0]) if values else Format.MCP
    except ValueError as error:
        raise ValidationFailed.at(FORMAT.name, f"Must be one of {', '.join(Format)}.") from error


ROUTES = [check_server, list_server_tools, list_agent_tools, call_tool]
