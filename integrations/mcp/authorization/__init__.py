"""Discovery of the authorization server of an MCP server, and registration of a client with it."""

from __future__ import annotations

from integrations.mcp.authorization.challenge import Challenge, challenge_of
from integrations.mcp.authorization.discovery import Authorization, discover
from integrations.mcp.authorization.errors import NotAuthorizable, Reason
from integrations.mcp.authorization.metadata import Grant
from integrations.mcp.authorization.registration import RegisteredClient, register_client

__all__ = [
    "Authorization",
    "Challenge",
    "Grant",
    "NotAuthorizable",
    "Reason",
    "RegisteredClient",
    "challenge_of",
    "discover",
    "register_client",
]
