"""Discovers the authorization server and the scopes of an MCP server."""

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
from integrations.mcp.authorization.scopes import OFFLINE, scopes_of, to_ask_for
from integrations.mcp.authorization.urls import Url, parse_url, safe
from integrations.oauth.model import AuthorizationServer, ClientAuth

PROTECTED = "oauth-protected-resource"
MAX_SERVERS = 2


@dataclass(frozen=True, slots=True)
class Authorization:
    """All that a grant for one MCP server needs but a client. Whoever connects pins it."""

    provider: AuthorizationServer
    scopes: tuple[str, ...]
    """To ask for; none where the authorization server decides."""
    resource: str
    registration_url: str | None
    takes_metadata_document: bool
    """A client may be the URL of a document about it."""
    auth_methods: tuple[ClientAuth, ...]
    """The best first; none where it knows none that we know."""
    grant_types: tuple[str, ...]
    """Empty where it does not say."""
    source: Literal["prm", "2025-03-26"]


@dataclass(frozen=True, slots=True)
class _Wish:
    """A grant of this kind, for this server."""

    server: Url
    grant: Grant
    resource: str
    challenged: Sequence[str]
    supported: Sequence[str] = ()

    def met_by(self, document: MetadataDocument) -> Authorization:
        grant_types = document.texts("grant_types_supported") or ()
        return Authorization(
            provider=provider_of(document, self.server, self.resource, self.grant),
            scopes=to_ask_for(self.challenged, self.supported, offline=self._is_kept(document, grant_types)),
            resource=self.resource,
            registration_url=registration_url_of(document, self.server),
            takes_metadata_document=document.is_set("client_id_metadata_document_supported"),
            auth_methods=auth_methods_of(document),
            grant_types=grant_types,
            source="prm",
        )

    def _is_kept(self, document: MetadataDocument, grant_types: Sequence[str]) -> bool:
        """Whether there are refresh tokens, and a scope to ask for them."""
        refreshes = self.grant == "authorization_code" and (not grant_types or "refresh_token" in grant_types)
        return refreshes and OFFLINE in (document.texts("scopes_supported") or ())


async def discover(
    http: Http, url: str, *, challenge: Challenge | None = None, grant: Grant = "authorization_code"
) -> Authorization:
    """As 2026-07-28 has it, and for a server without metadata of its own as 2025-03-26 had it.

    `challenge`: what the server said before; otherwise it is asked. Raises `NoAuthorization`, or an `UpstreamError`
    where somebody who was named does not answer.
    """
    server = parse_url(url)
    if server is None:
        raise NotAuthorizable("unreadable")
    said = ProbeResult(challenge) if challenge is not None else await probe(http, url)
    challenged = said.challenge.scopes or ()
    if protected := await _protected(http, server, said.challenge):
        supported = scopes_of(protected.texts("scopes_supported") or ())
        wish = _Wish(server, grant, _resource(protected, server), challenged, supported)
        return await _of_first_usable(http, protected.texts("authorization_servers") or (), wish)
    if said.otherwise:
        raise said.otherwise
    return await _of_its_own(http, _Wish(server, grant, server.canonical, challenged))


async def _protected(http: Http, server: Url, challenge: Challenge) -> MetadataDocument | None:
    """The server's own metadata. A place that it named has to answer; others may have troubles of their own."""
    named = safe(challenge.resource_metadata, beside=server)
    if named and (found := await _described(http, named.text)):
        return found
    trouble: StatusRefused | None = None
    for url in dict.fromkeys([server.well_known(PROTECTED), f"{server.site}/.well-known/{PROTECTED}"]):
        try:
            if found := await _described(http, url):
                return found
        except StatusRefused as refused:
            trouble = trouble or refused
    if trouble:
        raise trouble
    if challenge.resource_metadata:
        raise NotAuthorizable("unreadable")
    return None


async def _described(http: Http, url: str) -> MetadataDocument | None:
    found = await fetch_document(http, url)
    return found if found and found.text("resource") else None


def _resource(protected: MetadataDocument, server: Url) -> str:
    """As it is written there: in another spelling it would be another resource to the authorization server."""
    named = parse_url(protected.text("resource"))
    if named is None or not named.is_at_or_above(server):
        raise NotAuthorizable("foreign_resource")
    return named.text


async def _of_first_usable(http: Http, named: Sequence[str], wish: _Wish) -> Authorization:
    """In the server's order. One that is down is an error: otherwise the issuer would depend on which server is up."""
    places = [place for name in named if (place := safe(name, beside=wish.server)) and not place.query]
    objections: list[NotAuthorizable] = []
    for place in places[:MAX_SERVERS]:
        try:
            if found := await metadata_of(http, Issuer(place, _names(place))):
                return wish.met_by(found)
            objections.append(NotAuthorizable("unreadable"))
        except NotAuthorizable as objection:
            objections.append(objection)
    raise objections[0] if objections else NotAuthorizable("no_server")


async def _of_its_own(http: Http, wish: _Wish) -> Authorization:
    """2025-03-26: the site of the server is its authorization server, and nobody has written down its name."""
    site = wish.server.site
    issuer = Issuer(replace(wish.server, text=site, path="", query=""), (site, f"{site}/"))
    found = await metadata_of(http, issuer)
    return replace(wish.met_by(found or _defaults(site)), source="2025-03-26")


def _defaults(site: str) -> MetadataDocument:
    """PKCE was demanded of everybody then."""
    return MetadataDocument(
        {
            "issuer": site,
            "authorization_endpoint": f"{site}/authorize",
            "token_endpoint": f"{site}/token",
            "registration_endpoint": f"{site}/register",
            "code_challenge_methods_supported": ["S256"],
        }
    )


def _names(place: Url) -> tuple[str, ...]:
    """Some well-known ones differ from themselves by a last slash. It leads to the same documents, and nowhere else."""
    twin = place.text.removesuffix("/") if place.text.endswith("/") else f"{place.text}/"
    return (place.text, twin)
