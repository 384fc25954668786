"""A server that knows no handshake and answers JSON-RPC to a POST: `plain_server.py PORT`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORECASTS = {"Oslo": "Snow, -3 °C", "Lima": "Fog, 17 °C"}


class PlainHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65_536  # head and body leave together

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), **respond(asked)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def respond(requested: dict[str, Any]) -> dict[str, Any]:
    match requested:
        case {"method": "tools/list"}:
            return {"result": {"tools": [{"name": "forecast", "inputSchema": SCHEMA}]}}
        case {"method": "tools/call", "params": {"name": "forecast", "arguments": {"city": city}}} if city in FORECASTS:
            return {"result": {"content": [{"type": "text", "text": FORECASTS[city]}]}}
        case {"method": "tools/call"}:
            return {"error": {"code": -32603, "message": "Internal error", "data": "Location not found"}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), PlainHandler).serve_forever()
