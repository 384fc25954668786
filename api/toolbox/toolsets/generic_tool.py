"""The tool by which an agent calls any method of an MCP server."""

from __future__ import annotations

from typing import Any

from api.servers.server import Server
from api.toolbox.failures import generic_description
from api.toolbox.tool_names import generic_name
from api.toolbox.toolsets.tool_catalog import CatalogTool, ParsedArguments, Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "method": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "description": "The MCP method, such as tools/call.",
        },
        "params": {"type": "object", "description": "The method's parameters."},
    },
    "required": ["method"],
    "additionalProperties": False,
}
CONNECTION_METHODS = ("initialize", "notifications/", "$/")


class GenericTool(CatalogTool):
    """The same for every server; its description names the server."""

    def parse(self, arguments: Any) -> ParsedArguments:
        parsed = super().parse(arguments)
        if parsed.problems:
            return ParsedArguments(arguments, parsed.problems)
        method, params = arguments["method"], arguments.get("params")
        problems = []
        if method.startswith(CONNECTION_METHODS):
            problems = [f"The method {method} belongs to the connection, which Plugboard manages. Call another method."]
        is_named = method == "tools/call" and params and isinstance(params.get("name"), str)
        return ParsedArguments(arguments, problems, f"{method} {params['name']}" if is_named else method)


GENERIC_TOOL = GenericTool({"name": "", "inputSchema": SCHEMA})


def generic_tool(server: Server) -> Tool:
    """The generic tool of a server, as in an agent's list."""
    return Tool(generic_name(server.id), None, generic_description(server.name), SCHEMA, None, server.id, "")
