"""Metadata of an authorization server (RFC 8414), and whether a grant is possible with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from integrations.errors import StatusRefused
from integrations.http_port import Http
from integrations.mcp.authorization.errors import NotAuthorizable
from integrations.mcp.authorization.metadata_document import MetadataDocument, fetch_document
from integrations.mcp.authorization.urls import Url, safe
from integrations.oauth.model import AuthorizationServer, ClientAuth, Revocation

Grant = Literal["authorization_code", "client_credentials"]

OAUTH, OPENID = "oauth-authorization-server", "openid-configuration"
DEFAULT_AUTH_METHODS: tuple[ClientAuth, ...] = ("client_secret_basic",)  # RFC 8414, where nothing is said
# A client that has a secret loses less with a stolen refresh token than one that has none.
PREFERENCE: tuple[ClientAuth, ...] = ("client_secret_basic", "client_secret_post", "private_key_jwt", "none")


@dataclass(frozen=True, slots=True)
class Issuer:
    """An authorization server as somebody else names it. `names`: what its metadata may call it, byte by byte."""

    location: Url
    names: tuple[str, ...]

    @property
    def places(self) -> list[str]:
        """Where its metadata may be, in the order in which the protocol wants them tried."""
        spellings = [self.location.well_known(OAUTH), self.location.well_known(OPENID), self.location.below(OPENID)]
        return list(dict.fromkeys(spellings))


async def metadata_of(http: Http, issuer: Issuer) -> MetadataDocument | None:
    """None where there is no metadata. A location that fails temporarily or names another issuer is an error."""
    objections: list[StatusRefused | NotAuthorizable] = []
    for url in issuer.places:
        try:
            found = await fetch_document(http, url)
        except StatusRefused as refused:
            objections.append(refused)
            continue
        if found and found.text("issuer") in issuer.names:
            return found
        if found and found.text("issuer"):
            objections.append(NotAuthorizable("other_issuer"))
    if objections:
        raise objections[0]
    return None


def provider_of(document: MetadataDocument, server: Url, resource: str, grant: Grant) -> AuthorizationServer:
    """A client that asks for itself alone is sent nowhere: no code, so nothing that PKCE would keep safe."""
    asks_a_user = grant == "authorization_code"
    authorize = safe(document.text("authorization_endpoint"), beside=server)
    token = safe(document.text("token_endpoint"), beside=server)
    if not token or (asks_a_user and not authorize):
        raise NotAuthorizable("bad_endpoint")
    if asks_a_user and "S256" not in (document.texts("code_challenge_methods_supported") or ()):
        raise NotAuthorizable("no_pkce")
    return AuthorizationServer(
        authorize_url=authorize.text if authorize else "",
        token_url=token.text,
        issuer=document.text("issuer"),
        promises_issuer=document.is_set("authorization_response_iss_parameter_supported"),
        resource=resource,
        revocation=_revocation(document, server),
    )


def auth_methods_of(document: MetadataDocument) -> tuple[ClientAuth, ...]:
    """Those that we know, the best first; none at all where it knows none of them."""
    offered = document.texts("token_endpoint_auth_methods_supported")
    return DEFAULT_AUTH_METHODS if offered is None else tuple(method for method in PREFERENCE if method in offered)


def registration_url_of(document: MetadataDocument, server: Url) -> str | None:
    found = safe(document.text("registration_endpoint"), beside=server)
    return found.text if found else None


def _revocation(document: MetadataDocument, server: Url) -> Revocation | None:
    found = safe(document.text("revocation_endpoint"), beside=server)
    return Revocation(found.text, {"refresh": "token", "access": "token"}) if found else None
