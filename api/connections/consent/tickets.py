"""Tickets for the page on which a person starts the consent, with a limit of concurrent starts for each workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from api.access.context import WorkspaceContext
from api.connections.authorization_request import AuthorizationRequests
from api.connections.consent.return_to import check_return_to
from api.connections.consent.state import AuthorizationState, StateStore, client_digest
from api.connections.dependencies import PublicUrls
from api.connections.encryption import TokenSealer
from api.errors import ServiceUnavailable
from api.servers.server import Server

FOR_A_WORKSPACE = 16
TOO_MANY_STARTS = "This workspace is connecting too many servers at once. Try again when some of them have finished."


class ConsentStartLimit:
    """Within one process. A start sends requests to servers that the workspace chooses, and waits for them."""

    def __init__(self) -> None:
        self._starts: Counter[str] = Counter()

    @contextmanager
    def enter(self, workspace_id: str) -> Iterator[None]:
        if self._starts[workspace_id] >= FOR_A_WORKSPACE:
            raise ServiceUnavailable(TOO_MANY_STARTS)
        self._starts[workspace_id] += 1
        try:
            yield
        finally:
            self._starts[workspace_id] -= 1
            if not self._starts[workspace_id]:
                del self._starts[workspace_id]


class ConsentTickets:
    def __init__(
        self, authorization_requests: AuthorizationRequests, states: StateStore, sealer: TokenSealer, public: PublicUrls
    ) -> None:
        self._requests = authorization_requests
        self._states = states
        self._sealer = sealer
        self._public = public
        self._limit = ConsentStartLimit()

    def check_return_to(self, return_to: str | None) -> str | None:
        return check_return_to(return_to, self._public.all_origins)

    async def issue(self, ctx: WorkspaceContext, server: Server, return_to: str | None) -> str:
        """The URL of the page."""
        with self._limit.enter(ctx.workspace_id):
            request = await self._requests.build(ctx, server)
        pending = AuthorizationState(
            workspace_id=ctx.workspace_id,
            server_id=server.id,
            server_name=server.name,
            service_type=server.service_type,
            url=server.url,
            place=self._sealer.binding(server),
            given=client_digest(server, request.ref),
            key_id=ctx.principal.id,
            provider=msgspec.to_builtins(request.provider),
            client=request.ref,
            scopes=request.scopes,
            redirect_uri=request.redirect_uri,
            return_to=return_to,
        )
        return f"{self._public.url}/connect/{await self._states.issue_ticket(pending)}"
