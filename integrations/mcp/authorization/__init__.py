"""Who may let us into a protected MCP server, and how do we get to be their client."""

from __future__ import annotations

from integrations.mcp.authorization.challenge import Challenge, challenge_of
from integrations.mcp.authorization.discovery import Authorization, discovered
from integrations.mcp.authorization.errors import NoAuthorization, Reason
from integrations.mcp.authorization.metadata import Grant
from integrations.mcp.authorization.registration import Registered, registered

__all__ = [
    "Authorization",
    "Challenge",
    "Grant",
    "NoAuthorization",
    "Reason",
    "Registered",
    "challenge_of",
    "discovered",
    "registered",
]
