"""The OAuth callback: the checks of an authorization server's response, and the exchange of its code.

Only the code is trusted, and only with a valid `state` (see `state.py`), from the browser that was redirected, at the
redirect URI of that authorization server. Every callback uses up its state.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from api.access.authenticator import Authenticator
from api.access.context import WorkspaceContext
from api.connections.consent.code_exchange import CodeExchange
from api.connections.consent.errors import ConnectFailed, NotAllowed, ServerChanged
from api.connections.consent.return_to import failure_url, result_url
from api.connections.consent.state import (
    AuthorizationState,
    StateNotFound,
    StateStore,
    client_digest,
    reauthorize_initiator,
)
from api.connections.encryption import TokenSealer
from api.connections.oauth_clients import ClientUnavailable, OAuthClients
from api.kit.crypto.envelope import CannotOpen
from api.kit.storage.store import Store
from api.servers.records import ServerRecords
from api.servers.server import OAuthGrant, Server
from integrations import STANDARD_ERRORS, AuthorizationServer, GrantRefused, GrantUnavailable

MAX_CODE = 4096
DENIED = "access_denied"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallbackRequest:
    callback: str
    """The requested URL, without its query."""

    params: Mapping[str, Sequence[str]] = field(repr=False)
    browser: Sequence[str] = field(repr=False)
    """The values of the browser's cookies of our name."""

    request_id: str
    client_address: str | None

    def param(self, name: str) -> str | None:
        """The value of a parameter; None if it is repeated, which RFC 6749 forbids."""
        values = self.params.get(name, ())
        return values[0] if len(values) == 1 else None


class AuthorizationCallback:
    def __init__(
        self,
        store: Store,
        sealer: TokenSealer,
        states: StateStore,
        authenticator: Authenticator,
        oauth_clients: OAuthClients,
        code_exchange: CodeExchange,
    ) -> None:
        self._store = store
        self._sealer = sealer
        self._states = states
        self._authenticator = authenticator
        self._oauth_clients = oauth_clients
        self._code_exchange = code_exchange

    async def handle(self, request: CallbackRequest) -> str:
        """The URL of the result: free of the parameters, with an outcome of our own."""
        pending: AuthorizationState | None = None
        try:
            state = request.param("state") or ""
            pending = await self._redeem(state, request.browser)
            server_id = await self._connect(request, state, pending)
        except ConnectFailed as failure:
            log.info("not connected: %s", _reason(failure))
            return failure_url(pending, failure.code)
        return result_url(pending.return_to, connected=server_id)

    async def _redeem(self, state: str, cookies: Sequence[str]) -> AuthorizationState:
        try:
            pending = await self._states.redeem(state)
        except StateNotFound as error:
            raise ConnectFailed("expired") from error
        if not pending.is_bound_to(cookies):
            raise ConnectFailed("other_browser")
        return pending

    async def _connect(self, request: CallbackRequest, state: str, pending: AuthorizationState) -> str:
        provider = msgspec.convert(pending.provider, AuthorizationServer)
        if request.callback != pending.redirect_uri:
            raise ConnectFailed("other_service")
        _check_issuer(request, provider)
        ctx = await reauthorize_initiator(self._authenticator, pending, request.request_id, request.client_address)
        if pending.client.kind == "registered":  # any response proves that the registration still exists
            await self._oauth_clients.mark_doubted(ctx, provider.identity, pending.client.id, is_doubted=False)
        code = _code(request)
        server = await self._unchanged_server(ctx, pending)
        verifier = await self._verifier(ctx, state, pending)
        try:
            await self._code_exchange.exchange(ctx, server, pending, provider, code, verifier)
        except (GrantRefused, ClientUnavailable) as error:
            raise ConnectFailed("refused") from error
        except GrantUnavailable as error:
            raise ConnectFailed("unavailable") from error
        except ServerChanged as error:
            raise ConnectFailed("server_changed") from error
        except NotAllowed as error:
            raise ConnectFailed("not_allowed") from error
        return server.id

    async def _verifier(self, ctx: WorkspaceContext, state: str, pending: AuthorizationState) -> str | None:
        try:
            return await self._states.verifier(ctx, state, pending)
        except CannotOpen as error:  # the workspace's keys have changed
            raise ConnectFailed("expired") from error

    async def _unchanged_server(self, ctx: WorkspaceContext, pending: AuthorizationState) -> Server:
        server = await ServerRecords(self._store, ctx).get(pending.server_id)
        if server is None or not self._is_unchanged(server, pending):
            raise ConnectFailed("server_changed")
        return server

    def _is_unchanged(self, server: Server, pending: AuthorizationState) -> bool:
        return (
            (self._sealer.binding(server), server.url) == (pending.place, pending.url)
            and client_digest(server, pending.client) == pending.given
            and server.oauth_grant == OAuthGrant.AUTHORIZATION_CODE
        )


def _code(request: CallbackRequest) -> str:
    if "error" in request.params:
        raise ConnectFailed("denied" if request.param("error") == DENIED else "not_granted")
    code = request.param("code")
    if not code or len(code) > MAX_CODE:
        raise ConnectFailed("not_granted")
    return code


def _check_issuer(request: CallbackRequest, provider: AuthorizationServer) -> None:
    """RFC 9207: `iss` must equal the issuer, and be present if the metadata promises it. Services have no issuer."""
    if provider.issuer is None:
        return
    issuers = request.params.get("iss", ())
    if (issuers or provider.promises_issuer) and list(issuers) != [provider.issuer]:
        raise ConnectFailed("wrong_issuer")


def _reason(failure: ConnectFailed) -> str:
    """The reason for the log, with the error code of the authorization server if it is a standard one: any other
    word may be a secret."""
    refusal = failure.__cause__
    if not isinstance(refusal, GrantRefused):
        return failure.code
    return f"{failure.code} ({refusal.error if refusal.error in STANDARD_ERRORS else 'a non-standard error code'})"
