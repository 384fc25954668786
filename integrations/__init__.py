"""The only door: which services are there, how any MCP server is spoken to, and what can go wrong with either."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from integrations.client import Http, HttpReply
from integrations.errors import Answered, Refused, TimedOut, Unreachable, Unreadable, UpstreamError
from integrations.manifest import ConfigField, ManifestError, OAuth, Revocation, Service, Tool, load_services
from integrations.mcp import Era, McpClient, ToolList

__all__ = [
    "Answered",
    "ConfigField",
    "Era",
    "Http",
    "HttpReply",
    "ManifestError",
    "McpClient",
    "OAuth",
    "Refused",
    "Revocation",
    "Service",
    "TimedOut",
    "Tool",
    "ToolList",
    "Unreachable",
    "Unreadable",
    "UpstreamError",
    "services",
]


@cache
def services() -> Mapping[str, Service]:
    """Every service by its name, in order of names. The manifests are read once, at the first call."""
    return load_services(Path(__file__).parent)
