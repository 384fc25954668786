"""Somebody has opened the page of a ticket: what do they see, and what happens when they go on?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from api.access.context import WorkspaceContext
from api.access.repository import name_of
from api.connections.consent.callback import ConnectFailed, reauthorize_initiator
from api.connections.consent.html import connect_page
from api.connections.consent.state import LIFE_SECONDS, AuthorizationState, StateNotFound, digest, new_secret
from api.connections.dependencies import ConnectionDeps
from integrations import AuthorizationServer, OAuthClient, authorize_url, new_verifier

COOKIE = "plugboard-connect"


class AuthorizationRedirect(NamedTuple):
    """Where the browser goes next, and what it has to remember."""

    url: str
    cookie: str


@dataclass(frozen=True, slots=True)
class BrowserBinding:
    """What binds what begins to what comes back. A name that begins with `__Host-` no other host can set."""

    is_secure: bool
    cookies: str = field(repr=False)

    @property
    def cookie_name(self) -> str:
        return f"__Host-{COOKIE}" if self.is_secure else COOKIE

    @property
    def known(self) -> list[str]:
        pairs = [pair.strip().partition("=") for pair in self.cookies.split(";")]
        return [value for name, _, value in pairs if name == self.cookie_name]

    def keep(self, value: str) -> str:
        secure = "; Secure" if self.is_secure else ""  # over http, as at home, a browser would keep no secure one
        return f"{self.cookie_name}={value}; Path=/; Max-Age={LIFE_SECONDS}; HttpOnly; SameSite=Lax{secure}"


class ConsentStart:
    def __init__(self, works: ConnectionDeps) -> None:
        self._works = works

    async def page(self, ticket: str, request_id: str) -> bytes:
        pending, ctx = await self._pending(ticket, request_id)
        vendor = self._works.services.get(pending.service_type)
        title = vendor.service.title if vendor else "a remote MCP server"
        return connect_page(pending, await name_of(ctx.snapshot), title, pending.provider["authorize_url"])

    async def redirect(self, ticket: str, browser: BrowserBinding, request_id: str) -> AuthorizationRedirect:
        pending, ctx = await self._pending(ticket, request_id)
        provider = msgspec.convert(pending.provider, AuthorizationServer)
        verifier = new_verifier() if provider.pkce else None
        known = _usable(browser)
        try:
            state = await self._works.states.begin(ctx, ticket, pending, known, verifier)
        except StateNotFound as error:
            raise ConnectFailed("expired") from error
        if pending.client.kind == "registered":
            await self._works.oauth_clients.mark_unconfirmed(ctx, provider.identity, pending.client.id, is_doubted=True)
        url = authorize_url(
            provider,
            OAuthClient(pending.client.id, "none"),
            redirect_uri=pending.redirect_uri,
            state=state,
            scopes=pending.scopes,
            verifier=verifier,
        )
        return AuthorizationRedirect(url, browser.keep(known))

    async def _pending(self, ticket: str, request_id: str) -> tuple[AuthorizationState, WorkspaceContext]:
        try:
            pending = await self._works.states.get(ticket)
        except StateNotFound as error:
            raise ConnectFailed("expired") from error
        return pending, await reauthorize_initiator(self._works.authenticator, pending, request_id)


def _usable(browser: BrowserBinding) -> str:
    """One for all that begins in this browser, so that what was begun before can still be finished."""
    for each in browser.known:
        try:
            digest(each)
        except StateNotFound:
            continue
        return each
    return new_secret()
