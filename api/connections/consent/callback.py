"""What comes of a browser that returns from an authorization server? Whatever it is, its state is used up.

Nothing that it brings along is believed but the code, and that only together with a state of ours, from the browser
that went, at the way back that was given to that authorization server alone.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from api.access.authenticator import Authenticator
from api.access.context import WorkspaceContext
from api.access.principal import Scope
from api.connections.consent.code_exchange import CodeExchange, NotAllowed, ServerChanged
from api.connections.consent.return_to import result_url
from api.connections.consent.state import AuthorizationState, StateNotFound, digest, given_of
from api.connections.dependencies import ConnectionDeps
from api.connections.oauth_clients import ClientUnavailable
from api.kit.crypto.envelope import CannotOpen
from api.servers.service import OAuthGrant, Server, credential_binding, get_server
from integrations import AuthorizationServer, GrantRefused, GrantUnavailable

MAX_CODE = 4096
DENIED = "access_denied"

log = logging.getLogger(__name__)


class ConnectFailed(Exception):
    """Nothing was connected. The code is one of ours and says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class CallbackRequest:
    """What the browser brought."""

    callback: str
    """The URL that it came to, by its path alone."""

    params: Mapping[str, Sequence[str]] = field(repr=False)
    browser: Sequence[str] = field(repr=False)
    """What it knows; several, where it has several cookies of the name."""

    request_id: str

    def one(self, name: str) -> str | None:
        """A parameter that is there twice is there in no usable way."""
        values = self.params.get(name, ())
        return values[0] if len(values) == 1 else None


class AuthorizationCallback:
    def __init__(self, works: ConnectionDeps, granting: CodeExchange) -> None:
        self._works = works
        self._granting = granting

    async def handle(self, came: CallbackRequest) -> str:
        """Where to send the browser next: a clean place, with a word of ours about what happened."""
        return_to = None
        try:
            state = came.one("state") or ""
            pending = await self._redeemed(state)
            self._check_browser(came, pending)
            return_to = pending.return_to
            server_id = await self._connected(came, state, pending)
        except ConnectFailed as failed:
            log.info("not connected: %s", _why(failed))
            return result_url(return_to, error=failed.code)
        return result_url(return_to, connected=server_id)

    async def _redeemed(self, state: str) -> AuthorizationState:
        try:
            return await self._works.states.redeem(state)
        except StateNotFound as error:
            raise ConnectFailed("expired") from error

    @staticmethod
    def _check_browser(came: CallbackRequest, pending: AuthorizationState) -> None:
        """Somebody else's consent must not end up in this workspace, nor this one's in somebody else's."""
        if not any(hmac.compare_digest(each, pending.browser) for each in map(_digest, came.browser)):
            raise ConnectFailed("other_browser")

    async def _connected(self, came: CallbackRequest, state: str, pending: AuthorizationState) -> str:
        provider = msgspec.convert(pending.provider, AuthorizationServer)
        _check_way_back(came, pending, provider)
        ctx = await reauthorize_initiator(self._works.authenticator, pending, came.request_id)
        if pending.client.kind == "registered":  # whatever it says: it knows us
            await self._works.oauth_clients.mark_unconfirmed(
                ctx, provider.identity, pending.client.id, is_doubted=False
            )
        code = _code(came)
        server = await self._unchanged(ctx, pending)
        verifier = await self._verifier(ctx, state, pending)
        try:
            await self._granting.exchange(ctx, server, pending, provider, code, verifier)
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
            return await self._works.states.verifier(ctx, state, pending)
        except CannotOpen as error:  # the workspace has other keys by now
            raise ConnectFailed("expired") from error

    async def _unchanged(self, ctx: WorkspaceContext, pending: AuthorizationState) -> Server:
        server = await get_server(self._works.store, ctx, pending.server_id)
        if server is None or not self._is_still(server, pending):
            raise ConnectFailed("server_changed")
        return server

    def _is_still(self, server: Server, pending: AuthorizationState) -> bool:
        place = credential_binding(server, self._works.auth_http.anywhere.egress)
        return (
            (place, server.url) == (pending.place, pending.url)
            and given_of(server, pending.client) == pending.given
            and server.oauth_grant == OAuthGrant.AUTHORIZATION_CODE
        )


async def reauthorize_initiator(
    access: Authenticator, pending: AuthorizationState, request_id: str
) -> WorkspaceContext:
    """Who began may have been shown out meanwhile."""
    ctx = await access.reauthorize(pending.workspace_id, pending.key_id, request_id)
    if ctx is None or not ctx.principal.scope.includes(Scope.MANAGE):
        raise ConnectFailed("not_allowed")
    return ctx


def _check_way_back(came: CallbackRequest, pending: AuthorizationState, provider: AuthorizationServer) -> None:
    if came.callback != pending.redirect_uri:
        raise ConnectFailed("other_service")
    _check_issuer(came, provider)


def _code(came: CallbackRequest) -> str:
    """What is exchanged for tokens."""
    if "error" in came.params:
        raise ConnectFailed("denied" if came.one("error") == DENIED else "not_granted")
    code = came.one("code")
    if not code or len(code) > MAX_CODE:
        raise ConnectFailed("not_granted")
    return code


def _check_issuer(came: CallbackRequest, provider: AuthorizationServer) -> None:
    """RFC 9207: to the byte, and where it was promised it has to be there. Services have no issuer to compare with."""
    if provider.issuer is None:
        return
    told = came.params.get("iss", ())
    if (told or provider.promises_issuer) and list(told) != [provider.issuer]:
        raise ConnectFailed("wrong_issuer")


def _why(failed: ConnectFailed) -> str:
    """For the log: of what a provider said, a word that the RFC has."""
    refused = failed.__cause__
    return f"{failed.code} ({refused.error})" if isinstance(refused, GrantRefused) else failed.code


def _digest(text: str) -> str:
    try:
        return digest(text)
    except StateNotFound:  # not of ours
        return ""
