"""The only door: which services are there, how any MCP server is spoken to, and what can go wrong with either."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from integrations.errors import Answered, Refused, TimedOut, Unreachable, Unreadable, UpstreamError
from integrations.health_probe import probed
from integrations.http_port import Http, HttpReply
from integrations.manifest import ConfigField, ManifestError, OAuth, Service, Tool, load_services
from integrations.mcp import Era, McpClient, ToolList
from integrations.mcp.authorization import Authorization, NoAuthorization, challenge_of, discovered, registered
from integrations.oauth.client_auth import is_signing_key
from integrations.oauth.model import Account, Client, ClientAuth, GrantRefused, GrantUnavailable, Provider, Tokens
from integrations.oauth.service_oauth import account_of, client_auth_of, provider_of
from integrations.oauth.token_endpoint import (
    authorize_url,
    exchange,
    granted_to_client,
    new_verifier,
    refreshed,
    revoke,
)
from integrations.service_client import Api, ToolFailed
from integrations.tool import Params, Result, ServiceTool
from integrations.toolkits import Toolkit, toolkit_of

__all__ = [
    "Account",
    "Answered",
    "Api",
    "Authorization",
    "Client",
    "ClientAuth",
    "ConfigField",
    "Era",
    "GrantRefused",
    "GrantUnavailable",
    "Http",
    "HttpReply",
    "ManifestError",
    "McpClient",
    "NoAuthorization",
    "OAuth",
    "Params",
    "Provider",
    "Refused",
    "Result",
    "Service",
    "ServiceTool",
    "TimedOut",
    "Tokens",
    "Tool",
    "ToolFailed",
    "ToolList",
    "Toolkit",
    "Unreachable",
    "Unreadable",
    "UpstreamError",
    "account_of",
    "authorize_url",
    "challenge_of",
    "client_auth_of",
    "discovered",
    "exchange",
    "granted_to_client",
    "is_signing_key",
    "load_services",
    "new_verifier",
    "probed",
    "provider_of",
    "refreshed",
    "registered",
    "revoke",
    "services",
    "toolkit_of",
]


@cache
def services() -> Mapping[str, Service]:
    """Every service by its name, in order of names. The manifests are read once, at the first call."""
    return load_services(Path(__file__).parent)
