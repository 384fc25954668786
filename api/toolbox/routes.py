"""`check`, `tools` and `tool-calls`: what there is to call, and calling it."""

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
from api.http.openapi import examples
from api.http.operations import IDEMPOTENCY_KEY, OperationDoc, Parameter, SuccessResponse, documented, get, post
from api.http.request import AnyRequest, query_bool
from api.http.responses import OK, BytesResponse, StoredResponse, encode
from api.kit.deadline import Ticker
from api.toolbox.calling.disconnect import CancelOnDisconnect
from api.toolbox.listing.client_formats import Format, as_upstream, render
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.schemas import CallDraft, CallView, CheckView, ToolsView
from api.toolbox.service import ToolboxService

SERVER = "/api/workspaces/{workspace_id:str}/mcp-servers/{server_id:str}"
AGENT = "/api/workspaces/{workspace_id:str}/agents/{agent_id:str}"
TAG = "Tools"
REFRESH = Parameter("refresh", "`true`: the server is asked now, whatever is remembered.", {"type": "boolean"})
FORMAT = Parameter(
    "format",
    "Whose client takes the tools as they stand.",
    {"type": "string", "enum": [each.value for each in Format], "default": "mcp"},
)
ON_UNAVAILABLE = (
    "A server that cannot be asked costs only its own tools, and is named in `unavailable` with the reason."
)
ONCE = (
    "With an `Idempotency-Key`, no call is made twice: a repeated request gets the answer of the first, or a 409 while "
    "that is under way (then there is a `Retry-After`), where nobody knows what became of it, or where its answer was "
    "too large to be kept. A problem leaves the key free, and so do failures after which nothing was "
    "done (`invalid_arguments`, `not_connected`, `rate_limited`); after any other, another try takes a new key."
)


@post(
    f"{SERVER}/check",
    status_code=OK,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "checkServer",
            TAG,
            "Ask a server how it is",
            "Finds out anew how it speaks, and lists its tools. Nothing of what is remembered is used, and whatever it "
            "answers is not held against it. It has no effect on the server, so an `Idempotency-Key` is ignored.",
            SuccessResponse(OK, "How it is.", TypeAdapter(CheckView), examples.CHECK),
        )
    ),
)
async def check_server(server_id: FromPath[str], toolbox: Injected[ToolboxService]) -> Response[bytes]:
    found = await toolbox.check(server_id)
    return BytesResponse(OK, encode(CheckView.of(found)), {})


@get(
    f"{SERVER}/tools",
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "listServerTools",
            TAG,
            "List a server's tools",
            "As agents see them; `upstreamName` is what `enabledMcpServerToolNames` goes by. " + ON_UNAVAILABLE,
            SuccessResponse(OK, "Its tools.", TypeAdapter(ToolsView), examples.SERVER_TOOLS),
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
    return BytesResponse(OK, render(tools, as_upstream), {})


@get(
    f"{AGENT}/tools",
    guards=[RequiresScope(Scope.INVOKE)],
    opt=on_fast_path(
        documented(
            OperationDoc(
                "listAgentTools",
                TAG,
                "List an agent's tools",
                "All that it may call, within ten seconds. " + ON_UNAVAILABLE,
                SuccessResponse(OK, "Its tools.", TypeAdapter(ToolsView), examples.TOOLS),
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
                "Answers within the server's time limit, whatever the upstream does. A failure is an answer too: "
                "`isError` with a `text` that an agent can act on. Only a tool that the agent does not have is a 404."
                f" {ONCE}",
                SuccessResponse(OK, "What came of it.", TypeAdapter(CallView), examples.CALL),
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
            return await toolbox.call(agent_id, data.tool_name, data.args)

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
    """What is JSON already is put in as it is."""
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
    """There are few ways to ask for it: each is read once."""
    given = [value for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True) if name == FORMAT.name]
    try:
        return Format(given[0]) if given else Format.MCP
    except ValueError as error:
        raise ValidationFailed.at(FORMAT.name, f"Must be one of {', '.join(Format)}.") from error


ROUTES = [check_server, list_server_tools, list_agent_tools, call_tool]
