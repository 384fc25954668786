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
from integrations.mcp.authorization.metadata_document import HEADERS, MetadataDocument, is_trouble, parse_document
from integrations.mcp.authorization.urls import parse_url
from integrations.oauth.model import ClientAuth, OAuthClient

MAX_ID, MAX_SECRET = 2048, 4096
ANSWERS = (HTTPStatus.OK, HTTPStatus.CREATED)
_WITH_SECRET: tuple[ClientAuth, ...] = ("client_secret_basic", "client_secret_post")
_VISIBLE = re.compile(r"[\x20-\x7e]+")
_LOOPBACK = re.compile(r"https?://(?:localhost|127\.[0-9.]+|\[::1\])(?::[0-9]+)?")


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    client: OAuthClient
    expires_at: float | None = None
    """Of its secret, in seconds since 1970; None where it does not end."""


async def register_client(
    http: Http, authorization: Authorization, *, redirect_uri: str, client_name: str, client_uri: str | None = None
) -> RegisteredClient:
    """Asked once. Raises `NoAuthorization` where the answer is no, or nothing to build upon."""
    method = next((method for method in authorization.auth_methods if method != "private_key_jwt"), None)
    if authorization.registration_url is None or method is None:
        raise NotAuthorizable("no_registration")
    wanted = _wanted(authorization, method, redirect_uri, client_name, client_uri)
    sent = {**HEADERS, "Content-Type": "application/json"}
    async with http.request("POST", authorization.registration_url, sent, msgspec.json.encode(wanted)) as reply:
        if is_trouble(reply.status):
            raise StatusRefused(reply.status, reply.reason, dict(reply.headers))
        if reply.status not in ANSWERS:
            raise NotAuthorizable("no_registration")
        return _registered(await parse_document(reply), method, redirect_uri)


def _wanted(
    authorization: Authorization, method: ClientAuth, redirect_uri: str, client_name: str, client_uri: str | None
) -> Mapping[str, object]:
    own_page = parse_url(client_uri)
    return {
        "client_name": client_name,
        "redirect_uris": [redirect_uri],
        "application_type": "native" if _LOOPBACK.match(redirect_uri) else "web",
        "grant_types": _grant_types(authorization),
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        **({"client_uri": own_page.text} if own_page and own_page.is_safe else {}),
        **({"scope": " ".join(authorization.scopes)} if authorization.scopes else {}),
    }


def _grant_types(authorization: Authorization) -> list[str]:
    offered = authorization.grant_types
    return ["authorization_code", *(["refresh_token"] if not offered or "refresh_token" in offered else [])]


def _registered(answer: MetadataDocument, asked: ClientAuth, redirect_uri: str) -> RegisteredClient:
    """What it was told to do otherwise is done so, as long as it can be done."""
    client_id, secret = answer.text("client_id"), answer.text("client_secret")
    redirect_uris = answer.texts("redirect_uris")
    if not client_id or not _VISIBLE.fullmatch(client_id) or (secret and not _VISIBLE.fullmatch(secret)):
        raise NotAuthorizable("no_registration")
    if redirect_uris and redirect_uri not in redirect_uris:
        raise NotAuthorizable("no_registration")
    auth = _auth(answer.text("token_endpoint_auth_method"), asked, secret)
    client = OAuthClient(client_id, auth, secret if auth in _WITH_SECRET else None)
    return RegisteredClient(client, answer.number("client_secret_expires_at") or None)


def _auth(told: str | None, asked: ClientAuth, secret: str | None) -> ClientAuth:
    """Where nothing is told it is what was asked for; without a secret there is nothing to prove."""
    if told is None:
        return asked if secret else "none"
    if told not in (*_WITH_SECRET, "none") or (told != "none" and not secret):
        raise NotAuthorizable("no_registration")
    return next(method for method in get_args(ClientAuth) if method == told)
