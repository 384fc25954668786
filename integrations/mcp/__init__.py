"""An upstream MCP server, whatever version of the protocol it speaks: its methods, its tools, calling one."""

from __future__ import annotations

from integrations.mcp.client import McpClient
from integrations.mcp.server_requests import Respondent
from integrations.mcp.session import Era
from integrations.mcp.tools import ListedTools

__all__ = ["Era", "ListedTools", "McpClient", "Respondent"]
