"""The errors of connecting. Each code has its text in `html.py`."""

from __future__ import annotations


class ConnectFailed(Exception):
    """Nothing was connected. `location` is where the browser goes, if it is known."""

    def __init__(self, code: str, location: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.location = location


class ServerChanged(Exception):
    """The server was deleted or changed. The new grant is revoked."""


class NotAllowed(Exception):
    """The initiator lost the permission to connect servers. The new grant is revoked."""
