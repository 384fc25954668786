"""The metadata of an authorization server (RFC 8414), and the check that it supports a grant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote_plus

from integrations.errors import StatusRefused
from integrations.http_port import Http
from integrations.mcp.authorization.errors import NotAuthorizable
from integrations.mcp.authorization.metadata_document import MetadataDocument, fetch_document
from integrations.mcp.authorization.urls import Url, safe
from integrations.oauth.model import AuthorizationServer, ClientAuth, Revocation

Grant = Literal["authorization_code", "client_credentials"]

OAUTH, OPENID = "oauth-authorization-server", "openid-configuration"
DEFAULT_AUTH_METHODS: tuple[ClientAuth, ...] = ("client_secret_basic",)  # the default of RFC 8414
# Methods with a secret come first: without the secret a stolen refresh token is useless.
PREFERENCE: tuple[ClientAuth, ...] = ("client_secret_basic", "client_secret_post", "private_key_jwt", "none")

AUTHORIZATION_PARAMETERS = frozenset(
    {
        *("response_type", "client_id", "redirect_uri", "state", "scope", "resource"),
        *("code_challenge", "code_challenge_method"),
        *("request", "request_uri", "response_mode"),  # these would replace ours (RFC 9101, OAuth response modes)
    }
)


@dataclass(frozen=True, slots=True)
class Issuer:
    """An authorization server as the resource names it. `names`: the exact spellings that its metadata may use."""

    location: Url
    names: tuple[str, ...]

    @property
    def metadata_urls(self) -> list[str]:
        """The possible URLs of its metadata, in the order of the protocol."""
        spellings = [self.location.well_known(OAUTH), self.location.well_known(OPENID), self.location.below(OPENID)]
        return list(dict.fromkeys(spellings))


async def metadata_of(http: Http, issuer: Issuer) -> MetadataDocument | None:
    """The metadata; None if there is none. A location that fails temporarily or names another issuer is an error."""
    errors: list[StatusRefused | NotAuthorizable] = []
    for url in issuer.metadata_urls:
        try:
            document = await fetch_document(http, url)
        except StatusRefused as error:
            errors.append(error)
            continue
        if document and document.text("issuer") in issuer.names:
            return document
        if document and document.text("issuer"):
            errors.append(NotAuthorizable("other_issuer"))
    if errors:
        raise errors[0]
    return None


def provider_of(document: MetadataDocument, server: Url, resource: str, grant: Grant) -> AuthorizationServer:
    """The server as a provider. Client credentials need neither an authorization endpoint nor PKCE."""
    needs_user = grant == "authorization_code"
    authorize = safe(document.text("authorization_endpoint"), beside=server)
    token = safe(document.text("token_endpoint"), beside=server)
    if not token or (needs_user and not authorize):
        raise NotAuthorizable("bad_endpoint")
    if authorize and needs_user and _repeats_parameter(authorize.query):
        raise NotAuthorizable("bad_query")
    if needs_user and "S256" not in (document.texts("code_challenge_methods_supported") or ()):
        raise NotAuthorizable("no_pkce")
    return AuthorizationServer(
        authorize_url=authorize.text if authorize else "",
        token_url=token.text,
        issuer=document.text("issuer"),
        promises_issuer=document.is_set("authorization_response_iss_parameter_supported"),
        resource=resource,
        revocation=_revocation(document, server),
    )


def _repeats_parameter(query: str) -> bool:
    """Whether the query of an authorization endpoint has parameters of a request. None may be included more than once
    (RFC 6749 section 3.1), and a server could read its own instead of ours."""
    names = (unquote_plus(pair.partition("=")[0]) for pair in re.split("[&;]", query))
    return any(name.strip().lower() in AUTHORIZATION_PARAMETERS for name in names)


def auth_methods_of(document: MetadataDocument) -> tuple[ClientAuth, ...]:
    """The methods that both sides support, the preferred first."""
    supported = document.texts("token_endpoint_auth_methods_supported")
    return DEFAULT_AUTH_METHODS if supported is None else tuple(method for method in PREFERENCE if method in supported)


def registration_url_of(document: MetadataDocument, server: Url) -> str | None:
    url = safe(document.text("registration_endpoint"), beside=server)
    return url.text if url else None


def _revocation(document: MetadataDocument, server: Url) -> Revocation | None:
    url = safe(document.text("revocation_endpoint"), beside=server)
    return Revocation(url.text, {"refresh": "token", "access": "token"}) if url else None
