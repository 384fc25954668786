"""The binding of a sealed credential to its server's origin, so that it is never sent elsewhere.

A credential is sealed together with a text that says what it was entered for: the authType, the service and the origin
of its server. A reader compares this text with the server as it is now.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import SecretLocation
from api.kit.egress.policy import EgressPolicy, Origin, UrlRefused, check_url
from api.servers.repository import server_key


class Bindable(Protocol):
    """A server, stored or to be stored."""

    @property
    def auth_type(self) -> str: ...

    @property
    def service_type(self) -> str: ...

    @property
    def url(self) -> str | None: ...


def credential_binding(server: Bindable, egress: EgressPolicy) -> str:
    return f"{server.auth_type} {server.service_type} {_origin(server.url, egress)}"


def credential_location(server_id: str, name: str) -> SecretLocation:
    """The location of a sealed credential of the server's `config`."""
    return SecretLocation(server_key(server_id), name)


def bind_credential(secret: Secret, binding: str) -> Secret:
    return Secret(msgspec.msgpack.encode((binding, secret.reveal())))


def unbind_credential(bound: Secret) -> tuple[str, Secret]:
    """The binding and the credential."""
    binding, value = msgspec.msgpack.decode(bound.reveal(), type=tuple[str, bytes])
    return binding, Secret(value)


def _origin(url: str | None, egress: EgressPolicy) -> Origin | None:
    try:
        return None if url is None else check_url(url, egress).origin
    except UrlRefused:  # the policy was different when the server was stored; nothing is sent there now
        return None
