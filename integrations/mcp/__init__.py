"""An upstream MCP server, whatever version of the protocol it speaks: its methods, its tools, calling one."""

from __future__ import annotations

from integrations.mcp.client import McpClient
from integrations.mcp.connection import Era
from integrations.mcp.respondent import Respondent
from integrations.mcp.tools import ToolList

__all__ = ["Era", "McpClient", "Respondent", "ToolList"]
