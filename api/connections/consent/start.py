"""The page of a ticket, and the redirect from it to the authorization server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from api.access.authenticator import Authenticator
from api.access.context import WorkspaceContext
from api.access.repository import name_of
from api.connections.consent.errors import ConnectFailed
from api.connections.consent.html import connect_page
from api.connections.consent.return_to import failure_url
from api.connections.consent.state import (
    LIFE_SECONDS,
    AuthorizationState,
    StateNotFound,
    StateStore,
    digest,
    new_secret,
    reauthorize_initiator,
)
from api.connections.dependencies import Brand, ConfiguredService
from api.connections.oauth_clients import OAuthClients
from integrations import AuthorizationServer, OAuthClient, authorize_url, new_verifier

COOKIE = "plugboard-connect"


class AuthorizationRedirect(NamedTuple):
    """The authorization URL, and the cookie that the browser must send back."""

    url: str
    cookie: str


@dataclass(frozen=True, slots=True)
class BrowserBinding:
    """The cookie that binds the callback to the browser. With the `__Host-` prefix, no other host can set it."""

    is_secure: bool
    cookies: str = field(repr=False)

    @property
    def cookie_name(self) -> str:
        return f"__Host-{COOKIE}" if self.is_secure else COOKIE

    @property
    def cookie_values(self) -> list[str]:
        pairs = [pair.strip().partition("=") for pair in self.cookies.split(";")]
        return [value for name, _, value in pairs if name == self.cookie_name]

    def set_cookie(self, value: str) -> str:
        secure = "; Secure" if self.is_secure else ""  # browsers reject secure cookies over plain http
        return f"{self.cookie_name}={value}; Path=/; Max-Age={LIFE_SECONDS}; HttpOnly; SameSite=Lax{secure}"


class ConsentStart:
    def __init__(
        self,
        states: StateStore,
        authenticator: Authenticator,
        oauth_clients: OAuthClients,
        services: Mapping[str, ConfiguredService],
        brand: Brand,
    ) -> None:
        self._brand = brand
        self._states = states
        self._authenticator = authenticator
        self._services = services
        self._oauth_clients = oauth_clients

    async def page(self, ticket: str, request_id: str) -> bytes:
        pending, ctx = await self._pending(ticket, request_id)
        configured = self._services.get(pending.service_type)
        title = configured.service.title if configured else "a remote MCP server"
        return connect_page(pending, await name_of(ctx.snapshot), title, self._brand)

    async def cancel(self, ticket: str) -> str:
        """The URL of the result. A ticket is enough: who has it may also connect."""
        try:
            pending = await self._states.get(ticket)
            await self._states.cancel(ticket)
        except StateNotFound as error:
            raise ConnectFailed("expired") from error
        return failure_url(pending, "denied")

    async def redirect(self, ticket: str, browser: BrowserBinding, request_id: str) -> AuthorizationRedirect:
        pending, ctx = await self._pending(ticket, request_id)
        provider = msgspec.convert(pending.provider, AuthorizationServer)
        verifier = new_verifier() if provider.pkce else None
        cookie = _cookie_value(browser)
        try:
            state = await self._states.begin(ctx, ticket, pending, cookie, verifier)
        except StateNotFound as error:
            raise ConnectFailed("expired") from error
        if pending.client.kind == "registered":
            await self._oauth_clients.mark_doubted(ctx, provider.identity, pending.client.id, is_doubted=True)
        url = authorize_url(
            provider,
            OAuthClient(pending.client.id, "none"),
            redirect_uri=pending.redirect_uri,
            state=state,
            scopes=pending.scopes,
            verifier=verifier,
        )
        return AuthorizationRedirect(url, browser.set_cookie(cookie))

    async def _pending(self, ticket: str, request_id: str) -> tuple[AuthorizationState, WorkspaceContext]:
        try:
            pending = await self._states.get(ticket)
        except StateNotFound as error:
            raise ConnectFailed("expired") from error
        try:
            return pending, await reauthorize_initiator(self._authenticator, pending, request_id)
        except ConnectFailed as failure:
            raise ConnectFailed(failure.code, failure_url(pending, failure.code)) from failure


def _cookie_value(browser: BrowserBinding) -> str:
    """All authorizations of a browser share one cookie, so that several can be pending."""
    for value in browser.cookie_values:
        try:
            digest(value)
        except StateNotFound:
            continue
        return value
    return new_secret()
