"""The errors for an access token that is not available."""

from __future__ import annotations


class NotConnected(Exception):
    """The server is not connected, or was disconnected or changed in the meantime."""


class ReconnectRequired(Exception):
    """The authorization server ended the grant: a person has to consent again."""


class TokenTemporarilyUnavailable(Exception):
    """The authorization server gives no new tokens at the moment. The grant remains valid."""

    def __init__(self, text: str, retry_after: float | None = None, *, is_lasting: bool = False) -> None:
        """`is_lasting`: retrying does not help until the configuration is corrected."""
        super().__init__(text)
        self.text = text
        self.retry_after = retry_after
        self.is_lasting = is_lasting


class SupersededGrant(Exception):
    """Another process has changed the grant in the meantime: read it again."""


class RefreshFailed(Exception):
    """The request for tokens failed for a reason that does not end the grant."""
