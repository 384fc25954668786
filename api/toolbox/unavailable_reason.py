"""Why a server has no tools to list, as a word for programs."""

from __future__ import annotations

from enum import StrEnum


class UnavailableReason(StrEnum):
    """All reasons; the values are part of the API."""

    DISABLED = "disabled"
    NOT_CONNECTED = "not_connected"
    RECONNECT_REQUIRED = "reconnect_required"
    UNAUTHORIZED = "unauthorized"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    INVALID = "invalid"
