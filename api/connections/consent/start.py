"""Somebody has opened the page of a ticket: what do they see, and what happens when they go on?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from api.access.context import WorkspaceContext
from api.access.repository import name_of
from api.connections.consent.callback import Failed, still_allowed
from api.connections.consent.html import connect_page
from api.connections.consent.state import LIFE_SECONDS, NotPending, Pending, digest, new_secret
from api.connections.dependencies import ConnectionWorks
from integrations import AuthorizationServer, OAuthClient, authorize_url, new_verifier

COOKIE = "plugboard-connect"


class Onward(NamedTuple):
    """Where the browser goes next, and what it has to remember."""

    url: str
    cookie: str


@dataclass(frozen=True, slots=True)
class Browser:
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


class Going:
    def __init__(self, works: ConnectionWorks) -> None:
        self._works = works

    async def page(self, ticket: str, request_id: str) -> bytes:
        pending, ctx = await self._pending(ticket, request_id)
        vendor = self._works.vendors.get(pending.service_type)
        title = vendor.service.title if vendor else "a remote MCP server"
        return connect_page(pending, await name_of(ctx.snapshot), title, pending.provider["authorize_url"])

    async def go_on(self, ticket: str, browser: Browser, request_id: str) -> Onward:
        pending, ctx = await self._pending(ticket, request_id)
        provider = msgspec.convert(pending.provider, AuthorizationServer)
        verifier = new_verifier() if provider.pkce else None
        known = _usable(browser)
        try:
            state = await self._works.pendings.go_on(ctx, ticket, pending, known, verifier)
        except NotPending as error:
            raise Failed("expired") from error
        if pending.client.kind == "registered":
            await self._works.clients.doubt(ctx, provider.identity, pending.client.id, is_doubted=True)
        url = authorize_url(
            provider,
            OAuthClient(pending.client.id, "none"),
            redirect_uri=pending.redirect_uri,
            state=state,
            scopes=pending.scopes,
            verifier=verifier,
        )
        return Onward(url, browser.keep(known))

    async def _pending(self, ticket: str, request_id: str) -> tuple[Pending, WorkspaceContext]:
        try:
            pending = await self._works.pendings.shown(ticket)
        except NotPending as error:
            raise Failed("expired") from error
        return pending, await still_allowed(self._works.access, pending, request_id)


def _usable(browser: Browser) -> str:
    """One for all that begins in this browser, so that what was begun before can still be finished."""
    for each in browser.known:
        try:
            digest(each)
        except NotPending:
            continue
        return each
    return new_secret()
