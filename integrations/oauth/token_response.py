"""Parsing of responses of an authorization server: tokens, a refusal, or an unknown outcome.

A grant ends only by an explicit error code. Any other response leaves it unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from integrations.oauth.model import GrantRefused, GrantUnavailable, Tokens

MAX_BYTES = 256 * 1024
MAX_SCOPES = 200
MAX_LIFETIME = 10 * 365 * 86_400.0
MAX_WAIT = 3600.0
TOKEN_TYPES = frozenset({"bearer", "bot"})
TEMPORARY_STATUSES = frozenset({408, 423, 425, 429})
TEMPORARY_ERRORS = frozenset(
    {
        *("temporarily_unavailable", "server_error", "slow_down", "authorization_pending", "timeout"),
        *("ratelimited", "rate_limited", "rate_limit_exceeded", "too_many_requests", "request_timeout"),
        *("internal_error", "internal_server_error", "fatal_error", "service_unavailable"),
    }
)
"""Temporary errors, which say nothing about the grant."""
CLIENT_ERRORS = frozenset({"invalid_client", "unauthorized_client"})
"""Errors about the client; the server has not looked at the token."""

_ACCESS = re.compile(r"[\x21-\x7e]{1,16384}")
_REFRESH = re.compile(r"[\x20-\x7e]{1,16384}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,256}")  # RFC 6749 section 3.3
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_CODE = re.compile(r"[a-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True)
class TokenResponse:
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_success(self) -> bool:
        return self.status // 100 == HTTPStatus.OK // 100

    def document(self) -> Mapping[str, object] | None:
        """The JSON object of the body; None if the body is something else."""
        if len(self.body) > MAX_BYTES:
            return None
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return document if isinstance(document, dict) else None


def parse_tokens(response: TokenResponse, codes: Mapping[str, str]) -> Tokens:
    """`codes`: the provider's own error codes. An id_token is neither requested nor read."""
    document = response.document() or {}
    access = _text(document.get("access_token"), _ACCESS)
    if access is None or not response.is_success or _has_error(document):
        raise parse_error(response, codes)
    if not _is_bearer(document.get("token_type")):
        raise GrantRefused("unsupported_token_type")
    return Tokens(
        access=access,
        refresh=_text(document.get("refresh_token"), _REFRESH),
        expires_in=_lifetime(document.get("expires_in")),
        scopes=_scopes(document.get("scope")) or _scopes(document.get("scopes")),
        answer=document,
    )


def parse_error(response: TokenResponse, codes: Mapping[str, str]) -> GrantRefused | GrantUnavailable:
    """The error of a response without tokens."""
    error = error_code(response.document(), codes)
    return _temporary_error(response, error) or (GrantRefused(error) if error else GrantUnavailable("unreadable"))


def check_revoked(response: TokenResponse, codes: Mapping[str, str], *, with_client: bool) -> None:
    """Return if the token is invalid now: a success, or an error about a token that is invalid already."""
    document = response.document()
    if response.is_success and not _has_error(document or {}):
        return
    error = error_code(document, codes)
    if problem := _temporary_error(response, error):
        raise problem
    if error is None and (response.is_success or _is_not_json(response)):
        raise GrantUnavailable("unreadable")
    if error in CLIENT_ERRORS:
        raise GrantRefused(error)
    if with_client and response.status == HTTPStatus.UNAUTHORIZED:
        raise GrantRefused("invalid_client")


def _temporary_error(response: TokenResponse, error: str | None) -> GrantUnavailable | None:
    wait = retry_after(response.headers)
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return GrantUnavailable("failing", retry_after=wait)
    if response.status in TEMPORARY_STATUSES or error in TEMPORARY_ERRORS or wait is not None:
        return GrantUnavailable("busy", retry_after=wait)
    if not response.is_success and response.status < HTTPStatus.BAD_REQUEST:
        return GrantUnavailable("redirected")
    return None


def error_code(document: Mapping[str, object] | None, codes: Mapping[str, str]) -> str | None:
    """The error code, which is all that is used of an error; `unknown` if it does not have the form of a code."""
    for name in ("error", "code", "status"):
        value = (document or {}).get(name)
        if isinstance(value, str) and value:
            code = codes.get(value, value).lower()
            return code if _CODE.fullmatch(code) else "unknown"
    return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from now, at most an hour. A date is compared with the `Date` header, which has the same clock."""
    value = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(value):
        return min(float(value), MAX_WAIT)
    then, now = _date(value), _date(headers.get("date", ""))
    return min(max((then - now).total_seconds(), 0.0), MAX_WAIT) if then and now else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _has_error(document: Mapping[str, object]) -> bool:
    """Some servers report an error with a success status."""
    error = document.get("error")
    return document.get("ok") is False or (isinstance(error, str) and error != "")


def _is_not_json(response: TokenResponse) -> bool:
    """Perhaps a proxy's page, which says nothing about the token."""
    return response.document() is None and response.body.strip() != b""


def _is_bearer(kind: object) -> bool:
    return kind is None or (isinstance(kind, str) and kind.lower() in TOKEN_TYPES)


def _text(value: object, shape: re.Pattern[str]) -> str | None:
    return value if isinstance(value, str) and shape.fullmatch(value) else None


def _lifetime(value: object) -> float | None:
    """The lifetime in seconds; None if it is missing or implausible: then the token is used until it is refused."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value <= MAX_LIFETIME else None


def _scopes(value: object) -> tuple[str, ...] | None:
    """The scopes of a text or a list, separated by spaces or commas; None if there are none."""
    values = value if isinstance(value, list) else [value]
    scopes = re.split(r"[\s,]+", " ".join(text for text in values if isinstance(text, str)))
    return tuple(dict.fromkeys(scope for scope in scopes if _SCOPE.fullmatch(scope)))[:MAX_SCOPES] or None
