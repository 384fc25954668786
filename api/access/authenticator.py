"""Authenticates the principal of a request and gives it a context: for one workspace, or as an operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from api.access.context import OperatorContext, WorkspaceContext, partition_of, workspace_of
from api.access.principal import SYSTEM_PRINCIPAL, AuthenticationScheme, Credentials, Headers, Principal, Scope
from api.access.principal_cache import PrincipalCache
from api.errors import Forbidden, NotFound, Unauthorized
from api.kit.cache.memory import CacheMemory
from api.kit.clock import Clock
from api.kit.storage.revision_cache import RevisionCache, Snapshot


class Authenticated(NamedTuple):
    principal: Principal
    snapshot: Snapshot


NO_CREDENTIALS = "The request has no API key. Send one as `Authorization: Bearer <API key>`."
NOT_A_KEY = (
    "The `Authorization` header has no API key. Send exactly one header, `Authorization: Bearer <API key>`; keys begin "
    "with `pb_`."
)
EXPIRED = "The API key has expired. Ask an admin of the workspace for a new one."


class Authenticator:
    def __init__(
        self,
        schemes: Sequence[AuthenticationScheme],
        revisions: RevisionCache,
        clock: Clock,
        memory: CacheMemory | None = None,
    ) -> None:
        self._schemes = schemes
        self._revisions = revisions
        self._clock = clock
        self._cache = PrincipalCache(memory)

    async def identify(self, headers: Headers) -> Principal:
        """The principal, whatever partition it belongs to."""
        return (await self._authenticate_anywhere(self._credentials(headers))).principal

    async def enter_own(
        self, headers: Headers, request_id: str, client_address: str | None = None
    ) -> WorkspaceContext | OperatorContext:
        """The principal's right to act where it belongs: in its workspace, or as an operator."""
        credentials = self._credentials(headers)
        principal, snapshot = await self._authenticate_anywhere(credentials)
        workspace_id = workspace_of(snapshot)
        if workspace_id is None:
            return OperatorContext(principal, request_id, credentials, client_address)
        return WorkspaceContext(workspace_id, principal, snapshot, request_id, credentials, client_address)

    async def authenticate(
        self, headers: Headers, workspace_id: str, request_id: str, client_address: str | None = None
    ) -> WorkspaceContext:
        """The right to act for this workspace. To a principal of another workspace, this one does not exist."""
        credentials = self._credentials(headers)
        authenticated = await self._authenticate(partition_of(workspace_id), credentials)
        if authenticated is None:
            if (await self._authenticate_anywhere(credentials)).principal.scope is Scope.OPERATOR:
                raise Forbidden("An operator key cannot access what is in a workspace. Use a key of the workspace.")
            raise NotFound
        return WorkspaceContext(
            workspace_id, authenticated.principal, authenticated.snapshot, request_id, credentials, client_address
        )

    async def workspace_exists(self, workspace_id: str) -> bool:
        return await self._revisions.open(partition_of(workspace_id)) is not None

    async def reauthorize(
        self, workspace_id: str, principal_id: str, request_id: str, client_address: str | None = None
    ) -> WorkspaceContext | None:
        """The right to finish what this principal began in an earlier request, with the rights that it has now."""
        partition = partition_of(workspace_id)
        snapshot = await self._revisions.open(partition)
        principal = await self._load(partition, principal_id) if snapshot else None
        if snapshot is None or principal is None or principal.has_expired(self._clock.now()):
            return None
        return WorkspaceContext(workspace_id, principal, snapshot, request_id, client_address=client_address)

    async def enter_as_operator(
        self, principal: Principal, workspace_id: str, request_id: str, client_address: str | None = None
    ) -> WorkspaceContext:
        """For the only thing that an operator may do to a workspace: delete it."""
        snapshot = await self._revisions.open(partition_of(workspace_id))
        if snapshot is None:
            raise NotFound
        return WorkspaceContext(workspace_id, principal, snapshot, request_id, client_address=client_address)

    async def enter_as_system(self, workspace_id: str, request_id: str) -> WorkspaceContext | None:
        """For background jobs. None if the workspace does not exist."""
        snapshot = await self._revisions.open(partition_of(workspace_id))
        if snapshot is None:
            return None
        return WorkspaceContext(workspace_id, SYSTEM_PRINCIPAL, snapshot, request_id)

    async def authenticate_operator(
        self, headers: Headers, request_id: str, client_address: str | None = None
    ) -> OperatorContext:
        credentials = self._credentials(headers)
        principal = (await self._authenticate_anywhere(credentials)).principal
        return OperatorContext(principal, request_id, credentials, client_address)

    def _credentials(self, headers: Headers) -> Credentials:
        for scheme in self._schemes:
            text = scheme.credentials(headers)
            if text is not None:
                return Credentials(scheme, text)
        raise Unauthorized(NOT_A_KEY if any(name == b"authorization" for name, _ in headers) else NO_CREDENTIALS)

    async def _authenticate_anywhere(self, credentials: Credentials) -> Authenticated:
        if not credentials.scheme.is_well_formed(credentials.text):
            raise Unauthorized(credentials.scheme.flaw(credentials.text))
        partition = await credentials.scheme.partition(credentials.text)
        authenticated = await self._authenticate(partition, credentials)
        if authenticated is None:
            raise Unauthorized
        return authenticated

    async def _authenticate(self, partition: str, credentials: Credentials) -> Authenticated | None:
        scheme, text = credentials.scheme, credentials.text
        cached = self._cache.get(partition, text)
        if cached is None and not scheme.is_well_formed(text):
            raise Unauthorized(scheme.flaw(text))
        snapshot = await self._revisions.open(partition)
        if cached and snapshot and cached.revision == snapshot.revision:
            principal: Principal | None = cached.principal
        else:
            principal = await scheme.authenticate(partition, snapshot, text)
            if snapshot and principal:
                self._cache.put(snapshot, text, principal)
        if snapshot is None or principal is None:
            return None
        if principal.has_expired(self._clock.now()):  # only who holds the whole key learns this
            raise Unauthorized(EXPIRED)
        scheme.record_use(partition, principal)
        return Authenticated(principal, snapshot)

    async def _load(self, partition: str, principal_id: str) -> Principal | None:
        for scheme in self._schemes:
            if principal := await scheme.load(partition, principal_id):
                return principal
        return None
