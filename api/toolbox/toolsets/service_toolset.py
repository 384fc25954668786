"""The toolset of one connected service: calls with its credential, within the deadline of the call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus

from api.kit.deadline import Deadline
from api.kit.http_client.client import Exchange
from api.kit.redaction import Redactor
from api.servers.server import Server
from api.toolbox.credentials.static import UpstreamCredentials
from api.toolbox.failure_causes import cause_of
from api.toolbox.failures import CredentialsUnavailable
from api.toolbox.output import results
from api.toolbox.output.conversion import LargeResults
from api.toolbox.output.sanitize import safe_line
from api.toolbox.output.tool_result import Failure, FailureKind, ToolResult
from api.toolbox.toolsets.tool_catalog import CatalogTool, ToolCatalog
from api.toolbox.toolsets.toolset import ToolCall, Toolset, open_size
from api.upstream_http import UpstreamHttp
from integrations import (
    Params,
    Result,
    ServiceClient,
    ServiceTool,
    StatusRefused,
    ToolFailed,
    Toolkit,
    UnreadableResponse,
)

LONGEST_TEXT = 2000
MARGIN_SECONDS = 0.1
TOO_MUCH = "{0}'s response is too large or cannot be read. Ask for less, or open it in {0}."
MAYBE_DONE = "It may have been done nevertheless: check before you repeat it."
HALF_DONE = "All or part of it was done before that: check before you repeat it."
NOT_UNDERSTOOD = "{} sent a response that Plugboard does not understand."
NOT_ACCEPTED = "{} no longer accepts this server's credential. A workspace manager must enter or connect it again."
# The errors of a tool for a response that does not match the service's API.
ODD = (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError, RecursionError)

log = logging.getLogger(__name__)


class ServiceHttpAdapter:
    """The `ServiceHttp` of one call."""

    def __init__(self, upstream: UpstreamHttp, credentials: UpstreamCredentials, deadline: Deadline) -> None:
        self._upstream = upstream
        self._credentials = credentials
        self._deadline = deadline

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> Exchange:
        """Times out slightly before the call does, so that the tool can explain a missing response."""
        within = max(self._deadline.remaining() - MARGIN_SECONDS, 0.0)
        return self._upstream.request(method, url, headers, body, lasting=lasting, within=within)

    def current_credential(self) -> object:
        return self._credentials.sent

    async def renew(self, rejected: object) -> bool:
        return await self._credentials.renew_after_rejection(
            StatusRefused(HTTPStatus.UNAUTHORIZED, "Unauthorized"), rejected
        )

    def seconds_left(self) -> float:
        return self._deadline.remaining()


class ServiceToolset(Toolset):
    """Valid as long as the server's record stays the same, like an `McpToolset`."""

    def __init__(
        self,
        server: Server,
        credentials: UpstreamCredentials,
        upstream: UpstreamHttp,
        toolkit: Toolkit,
        tools: ToolCatalog,
        base_url: str,
        title: str,
        large_results: LargeResults,
    ) -> None:
        self.server = server
        self._credentials = credentials
        self._upstream = upstream
        self._toolkit = toolkit
        self._tools = tools
        self._base_url = base_url
        self._title = title
        self._large_results = large_results
        self._busy = 0
        self._left = asyncio.Event()

    @property
    def size(self) -> int:
        """The tools are part of Plugboard."""
        return open_size(self.server)

    @property
    def redact(self) -> Redactor:
        return self._credentials.redact

    @property
    def known_tools(self) -> ToolCatalog:
        return self._tools

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:  # noqa: ARG002
        return self._tools

    async def call(self, call: ToolCall) -> ToolResult:
        tool = self._toolkit.tools[call.tool.name]
        deadline = call.deadline.earlier(MARGIN_SECONDS)
        http = ServiceHttpAdapter(self._upstream, self._credentials, deadline)
        client = self._toolkit.client(http, self._base_url, title=self._title)
        self._busy += 1
        try:
            with deadline.enforce():
                return await self._result(call.tool, await self._run(tool, client, call.parsed_arguments))
        except CredentialsUnavailable as error:
            if not client.has_written:  # it becomes a result where all such failures do
                raise
            text, cause = f"{error.failure.text} {HALF_DONE}", cause_of(error, error.failure.kind)
            return results.failed(replace(error.failure, text=text, is_begun=True, cause=cause))
        except (ToolFailed, StatusRefused, UnreadableResponse, TimeoutError, *ODD) as error:
            failure = self._failure(error, tool, has_written=client.has_written)
            return results.failed(replace(failure, is_begun=client.has_written, cause=cause_of(error, failure.kind)))
        finally:
            self._busy -= 1
            self._left.set()

    async def _result(self, tool: CatalogTool, result: Result) -> ToolResult:
        slug, structured = self.server.slug, result.structured()
        text = {"type": "text", "text": tool.with_agent_names(result.text(), slug, quoted=True)}
        if notes := structured.get("notes"):
            structured["notes"] = [tool.with_agent_names(note, slug, quoted=True) for note in notes]
        converted = {"content": [text], "structuredContent": structured}
        return await self._large_results.convert(results.of_tool, converted, self.redact)

    async def _run(self, tool: ServiceTool, client: ServiceClient, params: Params) -> Result:
        if not self._credentials.is_ready():
            await self._credentials.ready()
        return await tool.run(client, params)

    def _failure(self, error: Exception, tool: ServiceTool, *, has_written: bool) -> Failure:
        half_done = f" {HALF_DONE}" if has_written else ""
        maybe_done = half_done or (f" {MAYBE_DONE}" if tool.writes else "")
        name = tool.name
        match error:
            case ToolFailed(kind=kind, text=text, retry_after=retry_after, is_down=is_down):
                return Failure(FailureKind(kind), self._line(name, text), retry_after, is_down)
            case StatusRefused(status=HTTPStatus.UNAUTHORIZED):
                return Failure(
                    FailureKind.RECONNECT_REQUIRED, self._line(name, NOT_ACCEPTED.format(self._title) + half_done)
                )
            case StatusRefused(text=text):
                return Failure(
                    FailureKind.UPSTREAM_REFUSED, self._line(name, f"{self._title} refused: {text}.{half_done}")
                )
            case UnreadableResponse(sent=sent):
                text = TOO_MUCH.format(self._title) + (maybe_done if sent else half_done)
                return Failure(FailureKind.UPSTREAM_UNAVAILABLE, self._line(name, text))
            case TimeoutError():
                text = f"{self._title} did not answer within {self.server.timeout_seconds} s."
                return Failure(FailureKind.TIMEOUT, self._line(name, text + maybe_done), is_down=True)
            case _:
                log.error("the response of a service was not understood", exc_info=error, extra={"detail": tool.name})
                text = NOT_UNDERSTOOD.format(self._title) + maybe_done
                return Failure(FailureKind.UPSTREAM_UNAVAILABLE, self._line(name, text))

    def _line(self, name: str, text: str) -> str:
        text = self._tools.by_name[name].with_agent_names(text, self.server.slug)
        return safe_line(f"Error: {text}", self.redact, LONGEST_TEXT)

    async def close(self) -> None:
        """Calls in progress finish first; they have deadlines."""
        while self._busy:
            self._left.clear()
            await self._left.wait()
