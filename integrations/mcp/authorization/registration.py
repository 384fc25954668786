"""Dynamic client registration (RFC 7591)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import get_args

import msgspec

from integrations.errors import StatusRefused
from integrations.http_port import Http
from integrations.mcp.authorization.discovery import Authorization
from integrations.mcp.authorization.errors import NotAuthorizable
from integrations.mcp.authorization.metadata_document import (
    HEADERS,
    MetadataDocument,
    is_temporary_failure,
    parse_document,
)
from integrations.mcp.authorization.urls import parse_url
from integrations.oauth.model import ClientAuth, OAuthClient

MAX_ID, MAX_SECRET = 2048, 4096
NO_ENDPOINT = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
"""What a server without an authorization server answers at its default endpoints."""
SUCCESS_STATUSES = (HTTPStatus.OK, HTTPStatus.CREATED)
_WITH_SECRET: tuple[ClientAuth, ...] = ("client_secret_basic", "client_secret_post")
_VISIBLE = re.compile(r"[\x20-\x7e]+")
_LOOPBACK = re.compile(r"https?://(?:localhost|127\.[0-9.]+|\[::1\])(?::[0-9]+)?")


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    client: OAuthClient
    expires_at: float | None = None
    """The expiry of its secret in seconds since 1970; None if it does not expire."""


async def register_client(
    http: Http, authorization: Authorization, *, redirect_uri: str, client_name: str, client_uri: str | None = None
) -> RegisteredClient:
    """Register once. Raises `NotAuthorizable` if the server refuses or its response is unusable."""
    method = next((method for method in authorization.auth_methods if method != "private_key_jwt"), None)
    if authorization.registration_url is None or method is None:
        raise NotAuthorizable("no_registration")
    metadata = _client_metadata(authorization, method, redirect_uri, client_name, client_uri)
    headers = {**HEADERS, "Content-Type": "application/json"}
    async with http.request("POST", authorization.registration_url, headers, msgspec.json.encode(metadata)) as reply:
        if is_temporary_failure(reply.status):
            raise StatusRefused(reply.status, reply.reason, dict(reply.headers))
        if reply.status not in SUCCESS_STATUSES:
            is_missing = authorization.source == "assumed" and reply.status in NO_ENDPOINT
            raise NotAuthorizable("no_oauth" if is_missing else "no_registration")
        return _parse_client(await parse_document(reply), method, redirect_uri)


def _client_metadata(
    authorization: Authorization, method: ClientAuth, redirect_uri: str, client_name: str, client_uri: str | None
) -> Mapping[str, object]:
    client_url = parse_url(client_uri)
    return {
        "client_name": client_name,
        "redirect_uris": [redirect_uri],
        "application_type": "native" if _LOOPBACK.match(redirect_uri) else "web",
        "grant_types": _grant_types(authorization),
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        **({"client_uri": client_url.text} if client_url and client_url.is_safe else {}),
        **({"scope": " ".join(authorization.scopes)} if authorization.scopes else {}),
    }


def _grant_types(authorization: Authorization) -> list[str]:
    supported = authorization.grant_types
    return ["authorization_code", *(["refresh_token"] if not supported or "refresh_token" in supported else [])]


def _parse_client(document: MetadataDocument, requested_method: ClientAuth, redirect_uri: str) -> RegisteredClient:
    """The registered client. Changes by the server are accepted if they are supported."""
    client_id, secret = document.text("client_id"), document.text("client_secret")
    redirect_uris = document.texts("redirect_uris")
    if not client_id or not _VISIBLE.fullmatch(client_id) or (secret and not _VISIBLE.fullmatch(secret)):
        raise NotAuthorizable("no_registration")
    if redirect_uris and redirect_uri not in redirect_uris:
        raise NotAuthorizable("no_registration")
    auth = _auth(document.text("token_endpoint_auth_method"), requested_method, secret)
    client = OAuthClient(client_id, auth, secret if auth in _WITH_SECRET else None)
    return RegisteredClient(client, document.number("client_secret_expires_at") or None)


def _auth(method: str | None, requested_method: ClientAuth, secret: str | None) -> ClientAuth:
    """The method that the server chose; by default the requested one, or `none` without a secret."""
    if method is None:
        return requested_method if secret else "none"
    if method not in (*_WITH_SECRET, "none") or (method != "none" and not secret):
        raise NotAuthorizable("no_registration")
    return next(known for known in get_args(ClientAuth) if known == method)
