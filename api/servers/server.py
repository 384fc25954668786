"""A stored server, as the other features see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from api.kit.crypto.reencryption import RESEALS
from api.kit.storage.records import NOT_STORED, Record
from api.kit.storage.store import Item

EXTERNAL = "external"


class AuthType(StrEnum):
    NONE = "none"
    HEADER = "header"
    BASIC = "basic"
    OAUTH = "oauth"


class OAuthGrant(StrEnum):
    AUTHORIZATION_CODE = "authorization_code"
    CLIENT_CREDENTIALS = "client_credentials"


class ServerState(StrEnum):
    READY = "ready"
    INCOMPLETE = "incomplete"
    DISABLED = "disabled"


class Exposure(StrEnum):
    BOTH = "both"
    GENERIC = "generic"
    TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class Connection(Record):
    """The result of a person's consent. The tokens are stored in the grant `grant_id`."""

    grant_id: str
    connected_at: str
    asked: Sequence[str] = ()
    granted: Sequence[str] = ()
    wanted: Sequence[str] = ()
    """Further scopes that tools turned out to need."""

    account: Mapping[str, str] = field(default_factory=dict)
    ended: str | None = None
    """Why the server has to be connected again; None while the grant is valid."""


@dataclass(frozen=True, slots=True)
class Server(Record):
    PARSERS: ClassVar = {"connection": Connection.decode}

    id: str
    name: str
    slug: str
    description: str
    url: str | None
    auth_type: str
    service_type: str
    enabled: bool
    timeout_seconds: int
    exposure: str
    created_at: str
    updated_at: str
    sealed: Mapping[str, str] = field(default_factory=dict)
    oauth_grant: str = "authorization_code"
    connection: Connection | None = None
    disconnected: bool = False
    """It was disconnected and not connected since: its client must not request tokens."""

    reseals: int = 0
    """How many versions of the stored item only moved its credentials to other keys."""

    version: int = field(default=1, metadata=NOT_STORED)
    """As users see it."""

    size: int = field(default=0, compare=False, metadata=NOT_STORED)
    """In bytes, as stored."""

    @classmethod
    def of(cls, item: Item) -> Server:
        return cls.decode(item.data, version=item.version - item.data.get(RESEALS, 0), size=item.size)

    @property
    def stored_version(self) -> int:
        return self.version + self.reseals

    @property
    def state(self) -> ServerState:
        """Incomplete: not connected, or without the credentials of its `authType`."""
        if not self.enabled:
            return ServerState.DISABLED
        match self.auth_type:
            case AuthType.NONE:
                complete = True
            case AuthType.OAUTH:
                complete = self.is_connected
            case AuthType.BASIC:
                complete = {"username", "password"} <= self.sealed.keys()
            case _:
                complete = bool(self.sealed)
        return ServerState.READY if complete else ServerState.INCOMPLETE

    @property
    def connects_by_client(self) -> bool:
        """Its client requests tokens without the consent of a person."""
        return self.oauth_grant == OAuthGrant.CLIENT_CREDENTIALS

    @property
    def is_connected(self) -> bool:
        if self.connects_by_client:
            return "clientId" in self.sealed and not self.disconnected
        return self.connection is not None and self.connection.ended is None
