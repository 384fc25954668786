"""A client of upstream MCP servers of any version of the protocol."""

from __future__ import annotations

from integrations.mcp.client import McpClient
from integrations.mcp.server_requests import Respondent
from integrations.mcp.session import Era
from integrations.mcp.tools import ListedTools

__all__ = ["Era", "ListedTools", "McpClient", "Respondent"]
