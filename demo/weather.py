"""An MCP server to try Plugboard with: how warm is it in three cities, on days that are made up?

It speaks MCP 2026-07-28, where each request says all there is to say, and answers the handshake of earlier clients.
"""

import argparse
import json
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from demo.arguments import HOST, add_port, free_port

Json = dict[str, Any]
NEWEST, EARLIER = "2026-07-28", "2025-11-25"
INFO = {"name": "weather-demo", "version": "1.0.0"}
CAN: Json = {"capabilities": {"tools": {}}}
KEEP = {"ttlMs": 60_000, "cacheScope": "public"}
DAYS = {"Oslo": [4, 2, -1], "Lisbon": [19, 21, 20], "Nairobi": [24, 23, 25]}
CITY = {"type": "string", "description": f"One of {', '.join(DAYS)}."}
NUMBER = {"type": "integer", "minimum": 1, "maximum": 3, "description": "For how many days; 3 where not given."}


def tool(name: str, description: str, **properties: Json) -> Json:
    schema = {"type": "object", "properties": properties, "required": ["city"], "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": {"readOnlyHint": True}}


TODAY = tool("get_weather", "How warm it is in a city today.", city=CITY)
FORECAST = tool("get_forecast", "How warm it will be in a city from today on.", city=CITY, days=NUMBER)


def respond(method: str, params: Json) -> Json:
    """The result or the error of a JSON-RPC response."""
    match method, params:
        case "server/discover", _:
            found = {"supportedVersions": [NEWEST], **CAN, **KEEP}
        case "initialize", _:
            found = {"protocolVersion": EARLIER, "serverInfo": INFO, **CAN}
        case "tools/list", _:
            found = {"tools": [TODAY, FORECAST], **KEEP}
        case "tools/call", {"name": "get_weather" | "get_forecast" as name, "arguments": {"city": str(city)}}:
            found = degrees(city, 1 if name == "get_weather" else params["arguments"].get("days", 3))
        case "tools/call", _:
            return {"error": {"code": -32602, "message": "There is no such tool, or it needs a city."}}
        case _:
            return {"error": {"code": -32601, "message": f"Method not found: {method}"}}
    return {"result": {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": INFO}, **found}}


def degrees(city: str, days: int) -> Json:
    if city not in DAYS:
        return {"content": [{"type": "text", "text": f"No weather for {city}. {CITY['description']}"}], "isError": True}
    text = f"{city}: {', then '.join(f'{day} °C' for day in DAYS[city][:days])}."
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"celsius": DAYS[city][:days]}}


class Weather(BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = respond(asked["method"], asked.get("params", {}))
        is_newest = self.headers["MCP-Protocol-Version"] == NEWEST
        if is_newest and self.headers["Mcp-Method"] != asked["method"]:
            text = {"error": {"code": -32020, "message": "Header mismatch: Mcp-Method"}}
        statuses = {-32020: 400, -32601: 404} if is_newest else {}
        status = statuses.get(text.get("error", {}).get("code"), 200) if "id" in asked else 202
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **text}).encode() if "id" in asked else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_error(405)  # it sends no messages of its own


def main() -> None:
    parser = argparse.ArgumentParser(description="An MCP server with made-up weather, to try Plugboard with.")
    add_port(parser, 8401)
    port = free_port(parser, parser.parse_args(), "demo")
    print(f"The weather server is at http://{HOST}:{port}/mcp. Ctrl-C stops it. Its requests follow:", flush=True)  # noqa: T201  a program that says so
    with suppress(KeyboardInterrupt), ThreadingHTTPServer((HOST, port), Weather) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
