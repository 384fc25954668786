"""Requests to an authorization server, from the authorization URL to revocation."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from authlib.common.urls import add_params_to_uri  # type: ignore[import-untyped]
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]

from integrations.errors import Unreachable, UpstreamError, UpstreamTimeout
from integrations.http_port import Http
from integrations.oauth.client_auth import ClientAuthentication, authenticate_client
from integrations.oauth.model import (
    AuthorizationServer,
    Encoding,
    GrantUnavailable,
    OAuthClient,
    Revocation,
    TokenKind,
    Tokens,
)
from integrations.oauth.token_response import TokenResponse, check_revoked, parse_tokens

CONTENT_TYPES: Mapping[Encoding, str] = {"form": "application/x-www-form-urlencoded", "json": "application/json"}
VERIFIER_BYTES = 48  # 64 characters; RFC 7636 takes 43 to 128


def new_verifier() -> str:
    return secrets.token_urlsafe(VERIFIER_BYTES)


def authorize_url(
    provider: AuthorizationServer,
    client: OAuthClient,
    *,
    redirect_uri: str,
    state: str,
    scopes: Sequence[str],
    verifier: str | None,
) -> str:
    """The provider's additional parameters cannot replace those of the protocol."""
    params = {
        **provider.authorize_params,
        "response_type": "code",
        "client_id": client.id,
        "redirect_uri": redirect_uri,
        "state": state,
        **_scope(provider, scopes),
        **_challenge(verifier),
        **_resource(provider),
    }
    url: str = add_params_to_uri(provider.authorize_url, list(params.items()))
    return url


async def exchange_code(
    http: Http,
    provider: AuthorizationServer,
    client: OAuthClient,
    *,
    code: str,
    redirect_uri: str,
    verifier: str | None,
) -> Tokens:
    proof = {"code_verifier": verifier} if verifier else {}
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri, **proof}
    return await _request_tokens(http, provider, client, fields)


async def refresh(http: Http, provider: AuthorizationServer, client: OAuthClient, refresh_token: str) -> Tokens:
    """Send no `scope`: the scopes stay the same."""
    return await _request_tokens(
        http, provider, client, {"grant_type": "refresh_token", "refresh_token": refresh_token}
    )


async def client_credentials(
    http: Http, provider: AuthorizationServer, client: OAuthClient, scopes: Sequence[str]
) -> Tokens:
    return await _request_tokens(
        http, provider, client, {"grant_type": "client_credentials", **_scope(provider, scopes)}
    )


async def revoke(
    http: Http, provider: AuthorizationServer, client: OAuthClient, *, access: str | None, refresh: str | None
) -> None:
    """Revoke each token that the provider can revoke. Repeating it is harmless."""
    tokens: Mapping[TokenKind, str | None] = {"access": access, "refresh": refresh}
    revocation = provider.revocation
    for kind, name in revocation.tokens.items() if revocation else ():
        if revocation and (token := tokens[kind]):
            authentication = _authenticate(provider, client) if revocation.with_client else _bearer(kind, token)
            fields = {name: token, **_hint(revocation, kind), **authentication.fields}
            response = await _post(http, revocation.url, revocation.encoding, fields, authentication.headers)
            check_revoked(response, provider.errors, with_client=revocation.with_client)


async def _request_tokens(
    http: Http, provider: AuthorizationServer, client: OAuthClient, fields: Mapping[str, str]
) -> Tokens:
    authentication = _authenticate(provider, client)
    all_fields = {**fields, **_resource(provider), **authentication.fields}
    return parse_tokens(
        await _post(http, provider.token_url, provider.token_encoding, all_fields, authentication.headers),
        provider.errors,
    )


async def _post(
    http: Http, url: str, encoding: Encoding, fields: Mapping[str, str], headers: Mapping[str, str]
) -> TokenResponse:
    body = urlencode(fields) if encoding == "form" else json.dumps(fields)
    all_headers = {"Accept": "application/json", "Content-Type": CONTENT_TYPES[encoding], **headers}
    try:
        async with http.request("POST", url, all_headers, body.encode()) as reply:
            return TokenResponse(reply.status, reply.headers, await reply.read())
    except UpstreamError as error:
        raise GrantUnavailable(_reason(error), sent=error.sent) from error


def _reason(error: UpstreamError) -> str:
    match error:
        case Unreachable():
            return "unreachable"
        case UpstreamTimeout():
            return "timed_out"
        case _:
            return "unreadable"


def _authenticate(provider: AuthorizationServer, client: OAuthClient) -> ClientAuthentication:
    return authenticate_client(client, provider.identity)


def _bearer(kind: TokenKind, token: str) -> ClientAuthentication:
    """The token as bearer, if it is an access token; a refresh token stands only in the body."""
    return ClientAuthentication(headers={"Authorization": f"Bearer {token}"} if kind == "access" else {})


def _hint(revocation: Revocation, kind: TokenKind) -> Mapping[str, str]:
    """The hint of RFC 7009; servers with another protocol may refuse unknown fields."""
    follows_rfc_7009 = revocation.with_client and revocation.encoding == "form"
    return {"token_type_hint": f"{kind}_token"} if follows_rfc_7009 else {}


def _scope(provider: AuthorizationServer, scopes: Sequence[str]) -> Mapping[str, str]:
    return {"scope": provider.scope_separator.join(scopes)} if scopes else {}


def _challenge(verifier: str | None) -> Mapping[str, str]:
    if not verifier:
        return {}
    return {"code_challenge": create_s256_code_challenge(verifier), "code_challenge_method": "S256"}


def _resource(provider: AuthorizationServer) -> Mapping[str, str]:
    return {"resource": provider.resource} if provider.resource else {}
