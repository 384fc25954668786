"""A server as the Python SDK makes it; run in an environment of its own: `sdk_server.py PORT [legacy] [json]`."""

import sys

import uvicorn
from mcp.server import MCPServer
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

server = MCPServer("sums", version="1.2.3")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def legacy(app: ASGIApp) -> ASGIApp:
    """Hides the newest version, as a server does that does not know it yet."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        requested = dict(scope.get("headers", [])).get(b"mcp-protocol-version")
        too_new = PlainTextResponse("Bad Request: Unsupported protocol version", 400)
        await (too_new if requested == b"2026-07-28" else app)(scope, receive, send)

    return answer


if __name__ == "__main__":
    port, *modes = sys.argv[1:]
    made = server.streamable_http_app(json_response="json" in modes, stateless_http="json" in modes)
    uvicorn.run(legacy(made) if "legacy" in modes else made, host="127.0.0.1", port=int(port))
