"""`check`, `tools` and `tool-calls`: what there is to call, and calling it."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import parse_qsl

import msgspec
from litestar import Response
from pydantic import TypeAdapter

from api.access.guards import RequiresScope
from api.access.idempotency.calls import IdempotentCall
from api.access.idempotency.records import idempotency_key
from api.access.principal import Scope
from api.errors import ConflictProblem, ValidationFailed
from api.http.dependencies import AnyRequest, resolve
from api.http.fast_path import on_fast_path
from api.http.openapi import examples
from api.http.operations import IDEMPOTENCY_KEY, OperationDoc, Parameter, SuccessResponse, documented, get, post
from api.http.request_body import query_bool, read_json, validate
from api.http.responses import OK, BytesResponse, StoredResponse, encode
from api.kit.deadline import Ticker
from api.toolbox.calling.disconnect import CancelOnDisconnect
from api.toolbox.calling.tool_caller import Args
from api.toolbox.listing.caches import Format
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.schemas import MAX_TOOL_NAME, CallDraft, CallView, CheckView, ToolsView, server_tools
from api.toolbox.service import ToolboxService

SERVER = "/api/workspaces/{workspace_id:str}/mcp-servers/{server_id:str}"
AGENT = "/api/workspaces/{workspace_id:str}/agents/{agent_id:str}"
TAG = "Tools"
FIELDS = {"toolName", "args"}
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
async def check_server(request: AnyRequest) -> Response[bytes]:
    toolbox = resolve(request, ToolboxService)
    found = await toolbox.check(request.path_params["server_id"])
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
async def list_server_tools(request: AnyRequest) -> Response[bytes]:
    server_id = request.path_params["server_id"]
    anew = query_bool(request, REFRESH.name)
    toolbox = resolve(request, ToolboxService)
    server, found = await toolbox.tools(server_id, anew=anew)
    return BytesResponse(OK, msgspec.json.encode(server_tools(server, found)), {})


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
async def list_agent_tools(request: AnyRequest) -> Response[bytes]:
    agent_id = request.path_params["agent_id"]
    form = _format(request.scope["query_string"])
    toolbox = resolve(request, ToolboxService)
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
                CallDraft,
                examples.CALL_DRAFT,
                [IDEMPOTENCY_KEY],
                [ConflictProblem, ValidationFailed],
            )
        )
    ),
)
async def call_tool(request: AnyRequest) -> Response[bytes]:
    tool_name, args = _asked(await read_json(request))
    given = idempotency_key(request)
    if given is not None:
        return await _called_once(request, given, tool_name, args)
    return BytesResponse(OK, encoded(await _called(request, tool_name, args)), {})


async def _called_once(request: AnyRequest, given: str, tool_name: str, args: Args) -> Response[bytes]:
    async def work() -> tuple[StoredResponse, bool]:
        result = await _called(request, tool_name, args)
        return StoredResponse(OK, encoded(result)), result.failure is None or not result.failure.is_never_done

    return (await resolve(request, IdempotentCall).run(given, work)).response()


async def _called(request: AnyRequest, tool_name: str, args: Args) -> ToolResult:
    agent_id = request.path_params["agent_id"]
    toolbox = resolve(request, ToolboxService)
    with CancelOnDisconnect(resolve(request, Ticker), request.receive):
        return await toolbox.call(agent_id, tool_name, args)


def _asked(body: object) -> tuple[str, Args]:
    """What is plainly right is taken as it is; the model says what is wrong with the rest."""
    if isinstance(body, dict) and body.keys() == FIELDS:
        name, args = body["toolName"], body["args"]
        if isinstance(name, str) and isinstance(args, dict) and 0 < len(name) <= MAX_TOOL_NAME:
            return name, args
    draft = validate(CallDraft, body)
    return draft.tool_name, draft.args


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
