"""Discovery of the authorization server and the scopes of an MCP server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from integrations.errors import StatusRefused
from integrations.http_port import Http
from integrations.mcp.authorization.challenge import Challenge
from integrations.mcp.authorization.errors import NotAuthorizable
from integrations.mcp.authorization.metadata import (
    Grant,
    Issuer,
    auth_methods_of,
    metadata_of,
    provider_of,
    registration_url_of,
)
from integrations.mcp.authorization.metadata_document import MetadataDocument, fetch_document
from integrations.mcp.authorization.probe import ProbeResult, probe
from integrations.mcp.authorization.scopes import OFFLINE, scopes_of, scopes_to_request
from integrations.mcp.authorization.urls import Url, parse_url, safe
from integrations.oauth.model import AuthorizationServer, ClientAuth

PROTECTED = "oauth-protected-resource"
MAX_SERVERS = 2


@dataclass(frozen=True, slots=True)
class Authorization:
    """All that a grant for one MCP server needs, except the client. It is stored with the grant."""

    provider: AuthorizationServer
    scopes: tuple[str, ...]
    """The scopes to request; empty if the authorization server decides."""
    resource: str
    registration_url: str | None
    takes_metadata_document: bool
    """Whether a client id may be the URL of a client metadata document."""
    auth_methods: tuple[ClientAuth, ...]
    """The supported methods, the preferred first; empty if there is none that we support."""
    grant_types: tuple[str, ...]
    """Empty if the metadata does not state them."""
    source: Literal["prm", "2025-03-26", "assumed"]
    """`assumed`: there is no metadata, so the endpoints are the defaults of 2025-03-26."""


@dataclass(frozen=True, slots=True)
class _GrantRequest:
    """The requested grant: its kind, server, resource and scopes."""

    server: Url
    grant: Grant
    resource: str
    challenged: Sequence[str]
    supported: Sequence[str] = ()

    def authorization_from(self, document: MetadataDocument) -> Authorization:
        grant_types = document.texts("grant_types_supported") or ()
        return Authorization(
            provider=provider_of(document, self.server, self.resource, self.grant),
            scopes=scopes_to_request(self.challenged, self.supported, offline=self._can_refresh(document, grant_types)),
            resource=self.resource,
            registration_url=registration_url_of(document, self.server),
            takes_metadata_document=document.is_set("client_id_metadata_document_supported"),
            auth_methods=auth_methods_of(document),
            grant_types=grant_types,
            source="prm",
        )

    def _can_refresh(self, document: MetadataDocument, grant_types: Sequence[str]) -> bool:
        """Whether refresh tokens are available, and a scope to request them."""
        refreshes = self.grant == "authorization_code" and (not grant_types or "refresh_token" in grant_types)
        return refreshes and OFFLINE in (document.texts("scopes_supported") or ())


async def discover(
    http: Http, url: str, *, challenge: Challenge | None = None, grant: Grant = "authorization_code"
) -> Authorization:
    """Discover as in 2026-07-28; for a server without protected-resource metadata as in 2025-03-26.

    `challenge`: a known challenge of the server; without it the server is probed. Raises `NotAuthorizable`, or an
    `UpstreamError` if a named server does not respond.
    """
    server = parse_url(url)
    if server is None:
        raise NotAuthorizable("unreadable")
    probe_result = ProbeResult(challenge) if challenge is not None else await probe(http, url)
    challenged = probe_result.challenge.scopes or ()
    if protected := await _protected_resource(http, server, probe_result.challenge):
        supported = scopes_of(protected.texts("scopes_supported") or ())
        request = _GrantRequest(server, grant, _resource(protected, server), challenged, supported)
        return await _first_usable(http, protected.texts("authorization_servers") or (), request)
    if probe_result.failure:
        raise probe_result.failure
    return await _from_own_site(http, _GrantRequest(server, grant, server.canonical, challenged))


async def _protected_resource(http: Http, server: Url, challenge: Challenge) -> MetadataDocument | None:
    """The protected-resource metadata. The URL that the server names must respond; other URLs may fail."""
    metadata_url = safe(challenge.resource_metadata, beside=server)
    if metadata_url and (document := await _fetch_resource_document(http, metadata_url.text)):
        return document
    temporary_error: StatusRefused | None = None
    for url in dict.fromkeys([server.well_known(PROTECTED), f"{server.site}/.well-known/{PROTECTED}"]):
        try:
            if document := await _fetch_resource_document(http, url):
                return document
        except StatusRefused as error:
            temporary_error = temporary_error or error
    if temporary_error:
        raise temporary_error
    if challenge.resource_metadata:
        raise NotAuthorizable("unreadable")
    return None


async def _fetch_resource_document(http: Http, url: str) -> MetadataDocument | None:
    document = await fetch_document(http, url)
    return document if document and document.text("resource") else None


def _resource(protected: MetadataDocument, server: Url) -> str:
    """The resource in its original spelling, since authorization servers compare it literally."""
    resource = parse_url(protected.text("resource"))
    if resource is None or not resource.is_at_or_above(server):
        raise NotAuthorizable("foreign_resource")
    return resource.text


async def _first_usable(http: Http, issuer_urls: Sequence[str], request: _GrantRequest) -> Authorization:
    """The first usable authorization server. One that is down is an error, so that the choice does not depend on it."""
    locations = [
        location
        for issuer_url in issuer_urls
        if (location := safe(issuer_url, beside=request.server)) and not location.query
    ]
    errors: list[NotAuthorizable] = []
    for location in locations[:MAX_SERVERS]:
        try:
            if document := await metadata_of(http, Issuer(location, _issuer_names(location))):
                return request.authorization_from(document)
            errors.append(NotAuthorizable("unreadable"))
        except NotAuthorizable as error:
            errors.append(error)
    raise errors[0] if errors else NotAuthorizable("no_server")


async def _from_own_site(http: Http, request: _GrantRequest) -> Authorization:
    """In 2025-03-26 the site of the server is its authorization server, whose issuer is not stated anywhere."""
    site = request.server.site
    issuer = Issuer(replace(request.server, text=site, path="", query=""), (site, f"{site}/"))
    document = await metadata_of(http, issuer)
    source: Literal["2025-03-26", "assumed"] = "2025-03-26" if document else "assumed"
    return replace(request.authorization_from(document or _defaults(site)), source=source)


def _defaults(site: str) -> MetadataDocument:
    """The default endpoints of 2025-03-26, which required PKCE."""
    return MetadataDocument(
        {
            "issuer": site,
            "authorization_endpoint": f"{site}/authorize",
            "token_endpoint": f"{site}/token",
            "registration_endpoint": f"{site}/register",
            "code_challenge_methods_supported": ["S256"],
        }
    )


def _issuer_names(location: Url) -> tuple[str, ...]:
    """The accepted spellings of an issuer: some metadata differ by a trailing slash, which is harmless."""
    variant = location.text.removesuffix("/") if location.text.endswith("/") else f"{location.text}/"
    return (location.text, variant)
