"""The public interface: the services, a client for any MCP server, OAuth, and the errors of all three."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from integrations.errors import (
    ArgumentRefused,
    FailureCause,
    RpcErrorResponse,
    StatusRefused,
    Unreachable,
    UnreadableResponse,
    UpstreamError,
    UpstreamTimeout,
)
from integrations.health_probe import probe_service
from integrations.http_port import Http, HttpReply
from integrations.manifest import ConfigField, ManifestError, ManifestTool, OAuth, Service, load_services
from integrations.mcp import Era, ListedTools, McpClient
from integrations.mcp.authorization import Authorization, NotAuthorizable, challenge_of, discover, register_client
from integrations.oauth.client_auth import is_signing_key
from integrations.oauth.errors import STANDARD_ERRORS
from integrations.oauth.model import (
    Account,
    AuthorizationServer,
    ClientAuth,
    GrantRefused,
    GrantUnavailable,
    OAuthClient,
    Tokens,
)
from integrations.oauth.service_oauth import account_of, authorization_server_of, client_auth_of
from integrations.oauth.token_endpoint import (
    authorize_url,
    client_credentials,
    exchange_code,
    new_verifier,
    refresh,
    revoke,
)
from integrations.service_client import ServiceClient, ToolFailed
from integrations.similar_names import nearest_name, nearest_names
from integrations.tool import Params, Result, ServiceTool
from integrations.toolkits import Toolkit, load_toolkit

__all__ = [
    "STANDARD_ERRORS",
    "Account",
    "ArgumentRefused",
    "Authorization",
    "AuthorizationServer",
    "ClientAuth",
    "ConfigField",
    "Era",
    "FailureCause",
    "GrantRefused",
    "GrantUnavailable",
    "Http",
    "HttpReply",
    "ListedTools",
    "ManifestError",
    "ManifestTool",
    "McpClient",
    "NotAuthorizable",
    "OAuth",
    "OAuthClient",
    "Params",
    "Result",
    "RpcErrorResponse",
    "Service",
    "ServiceClient",
    "ServiceTool",
    "StatusRefused",
    "Tokens",
    "ToolFailed",
    "Toolkit",
    "Unreachable",
    "UnreadableResponse",
    "UpstreamError",
    "UpstreamTimeout",
    "account_of",
    "authorization_server_of",
    "authorize_url",
    "challenge_of",
    "client_auth_of",
    "client_credentials",
    "discover",
    "exchange_code",
    "is_signing_key",
    "load_services",
    "load_toolkit",
    "nearest_name",
    "nearest_names",
    "new_verifier",
    "probe_service",
    "refresh",
    "register_client",
    "revoke",
    "services",
]


@cache
def services() -> Mapping[str, Service]:
    """Every service by its name, in order of names. The manifests are read once, at the first call."""
    return load_services(Path(__file__).parent)
