"""Consistent examples for the OpenAPI document."""

from __future__ import annotations

from typing import Any

WORKSPACE_ID = "ws_3kq8v0zj5m1t7r2x9c4b"
SERVER_ID = "server_kzq91m7q1jnbv3mf7gsqbwcw7dg3e460w"
AGENT_ID = "agent_kzq91m7q1jnbva15eaqkk7edxe7e52wcn"
KEY_ID = "key_8m2d5w0rt4k7z1x9c3vb"
AUDIT_ID = "audit_1m7q1jnbv00ekevbkv302ebyxym3yvq"
AT = "2026-11-18T10:00:00.123Z"
API_KEY = "pb_8m2d5w0rt4k7z1x9c3vb_<secret and checksum>"

WORKSPACE: dict[str, Any] = {
    "id": WORKSPACE_ID,
    "name": "Acme",
    "createdAt": AT,
    "updatedAt": AT,
    "version": 1,
}
SERVER: dict[str, Any] = {
    "id": SERVER_ID,
    "name": "Weather API",
    "slug": "weather-api",
    "description": "",
    "url": "https://api.weather.example.com/mcp",
    "authType": "header",
    "serviceType": "external",
    "enabled": True,
    "timeoutSeconds": 30,
    "exposure": "both",
    "configured": ["headerValue"],
    "createdAt": AT,
    "updatedAt": AT,
    "version": 1,
}
SERVER_DRAFT: dict[str, Any] = {
    "name": "Weather API",
    "url": "https://api.weather.example.com/mcp",
    "authType": "header",
    "config": {"headerValue": "Bearer <token>"},
}
AGENT: dict[str, Any] = {
    "id": AGENT_ID,
    "name": "Support",
    "description": "Answers tickets.",
    "instructions": "Be brief.",
    "enabledMcpServerIds": [SERVER_ID],
    "enabledMcpServerToolNames": {SERVER_ID: ["get_weather"]},
    "createdAt": AT,
    "updatedAt": AT,
    "version": 1,
}
AGENT_DRAFT: dict[str, Any] = {
    "name": "Support",
    "instructions": "Be brief.",
    "enabledMcpServerIds": [SERVER_ID],
    "enabledMcpServerToolNames": {SERVER_ID: ["get_weather"]},
}
KEY: dict[str, Any] = {
    "id": KEY_ID,
    "name": "CI",
    "scope": "invoke",
    "agentIds": [AGENT_ID],
    "expiresAt": None,
    "lastUsedAt": None,
    "createdAt": AT,
    "createdBy": "setup",
    "version": 1,
}
CALLER: dict[str, Any] = {
    "kind": "api_key",
    "id": KEY_ID,
    "name": "CI",
    "prefix": "pb_8m2d5w0rt4k7z1x9c3vb",
    "scope": "invoke",
    "workspaceId": WORKSPACE_ID,
    "agentIds": [AGENT_ID],
    "expiresAt": None,
}
RECORD: dict[str, Any] = {
    "id": AUDIT_ID,
    "at": AT,
    "action": "server.created",
    "target": {"type": "server", "id": SERVER_ID, "name": "Weather API"},
    "actor": {"type": "api_key", "id": KEY_ID, "name": "CI"},
    "fields": ["config.headerValue"],
    "requestId": "5f0c6f3e9b3c4d0e",
}
INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
TOOL: dict[str, Any] = {
    "name": "mcp_weather-api_get_weather",
    "description": "The weather in a city.",
    "inputSchema": INPUT_SCHEMA,
}
TOOLS: dict[str, Any] = {"tools": [TOOL], "unavailable": []}
SERVER_TOOLS: dict[str, Any] = {"tools": [{**TOOL, "upstreamName": "get_weather"}], "unavailable": []}
CALL_DRAFT: dict[str, Any] = {"toolName": "mcp_weather-api_get_weather", "args": {"city": "Oslo"}}
CALL: dict[str, Any] = {
    "text": "Oslo: 4 °C, rain.",
    "content": [{"type": "text", "text": "Oslo: 4 °C, rain."}],
    "structuredContent": {"celsius": 4, "sky": "rain"},
    "isError": False,
}
CHECK: dict[str, Any] = {
    "status": "ok",
    "protocol": "modern 2026-07-28",
    "serverInfo": {"name": "weather", "version": "1.4.0"},
    "toolCount": 3,
    "detail": "It answers.",
    "breaker": {"state": "closed", "failures": 0, "retryAfter": 0},
}
