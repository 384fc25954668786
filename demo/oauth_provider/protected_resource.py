"""An MCP server that requires tokens of an authorization server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from demo.mcp_servers import McpRequest, McpResponse, ModernServer, SessionServer, error, result
from demo.oauth_provider.http import Json, Request, Response, json_response, with_changes
from demo.oauth_provider.model import Token
from demo.oauth_provider.tenant import Tenant

NO_ARGUMENTS: Json = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "whoami", "description": "Tells whose token this is.", "inputSchema": NO_ARGUMENTS},
    {
        "name": "echo",
        "description": "Says it again.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
    {"name": "admin", "description": "Needs the scope admin.", "inputSchema": NO_ARGUMENTS},
]
NAMES = {tool["name"] for tool in TOOLS}
REQUIRED_SCOPES = {"admin": "admin"}
"""The scope that each tool requires."""


class ProtectedMcpServer:
    """An MCP server behind OAuth. `good` returns the token if it is valid for this server."""

    def __init__(self, tenant: Tenant, good: Callable[[Tenant, str | None], Token | None]) -> None:
        self._tenant, self._valid_token = tenant, good
        self._modern, self._streamable = ModernServer(TOOLS), SessionServer()
        self._streamable.tools = TOOLS

    def resource_metadata(self) -> Response:
        fields = {
            "resource": self._tenant.mcp_url,
            "authorization_servers": list(self._tenant.authorization_servers),
            "scopes_supported": list(self._tenant.behaviour.scopes_supported),
            "bearer_methods_supported": ["header"],
        }
        return json_response(with_changes(fields, self._tenant.behaviour.prm_changes))

    def respond(self, request: Request) -> Response:
        token = self._valid_token(self._tenant, request.bearer)
        if token is None:
            return self._unauthorized(request.bearer)
        try:
            message = json.loads(request.body or b"{}")
        except ValueError:
            return json_response(
                {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}, 400
            )
        needed = REQUIRED_SCOPES.get(_tool_name(message))
        if needed and needed not in token.family.scopes:
            leaked = f" {token.text} {token.text.encode().hex()}" if self._tenant.behaviour.leaks_in_scopes else ""
            return self._forbidden(needed + leaked)
        seen = McpRequest(request.method, request.path, request.headers, message)
        return _to_response(self._reply(seen, token))

    def _reply(self, request: McpRequest, token: Token) -> McpResponse:
        is_session = request.method == "initialize" or "mcp-session-id" in request.headers
        era = self._tenant.behaviour.era
        server = self._streamable if era == "streamable" or (era == "both" and is_session) else self._modern
        reply = server.respond(request)
        if request.method == "tools/call" and _tool_name(request.message) not in NAMES:
            return error(request, -32602, "Unknown tool")
        if request.method == "tools/call" and reply.status == 200 and b'"result"' in bytes(reply.body):  # type: ignore[arg-type]
            return result(request, {"content": [{"type": "text", "text": self._tool_text(request, token)}]})
        return reply

    def _tool_text(self, request: McpRequest, token: Token) -> str:
        if _tool_name(request.message) == "echo":
            return str(request.message["params"].get("arguments", {}).get("text"))
        family = token.family
        who = {"tenant": self._tenant.name, "client": family.client, "person": family.person}
        return json.dumps({**who, "scopes": list(family.scopes), "family": family.id, "generation": token.generation})

    def _unauthorized(self, token: str | None) -> Response:
        scopes = " ".join(self._tenant.behaviour.challenge_scopes)
        return self._challenge(401, "invalid_token" if token else "", scopes)

    def _forbidden(self, scope: str) -> Response:
        return self._challenge(403, "insufficient_scope", scope)

    def _challenge(self, status: int, problem: str, scope: str) -> Response:
        where = self.metadata_url if "challenge" in self._tenant.behaviour.prm_at else ""
        parts = {"error": problem, "scope": scope, "resource_metadata": where}
        text = ", ".join(f'{name}="{value}"' for name, value in parts.items() if value)
        return json_response({"error": problem or "unauthorized"}, status, WWW_Authenticate=f"Bearer {text}".strip())

    @property
    def metadata_url(self) -> str:
        tenant = self._tenant
        if "path" in tenant.behaviour.prm_at:
            return f"{tenant.origin}/.well-known/oauth-protected-resource/mcp/{tenant.name}"
        return f"{tenant.origin}/prm/{tenant.name}"


def _tool_name(message: Any) -> str:
    match message:
        case {"method": "tools/call", "params": {"name": str(name)}}:
            return name
        case _:
            return ""


def _to_response(reply: McpResponse) -> Response:
    assert isinstance(reply.body, bytes)
    return Response(reply.status, reply.body, {"Content-Type": reply.media_type, **reply.headers})
