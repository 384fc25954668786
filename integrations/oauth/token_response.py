"""What did an authorization server say: here are tokens, no, or nothing that counts?

A grant is only ever lost to a clear word. Whatever else comes leaves it as it was.
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
LONGEST_LIFE = 10 * 365 * 86_400.0
LONGEST_WAIT = 3600.0
TOKEN_TYPES = frozenset({"bearer", "bot"})
PASSING_STATUSES = frozenset({408, 423, 425, 429})
PASSING_WORDS = frozenset(
    {
        *("temporarily_unavailable", "server_error", "slow_down", "authorization_pending", "timeout"),
        *("ratelimited", "rate_limited", "rate_limit_exceeded", "too_many_requests", "request_timeout"),
        *("internal_error", "internal_server_error", "fatal_error", "service_unavailable"),
    }
)
"""Said of the moment, and not of the grant."""
ABOUT_US = frozenset({"invalid_client", "unauthorized_client"})
"""Said of who asks, so that the token was not even looked at."""

_ACCESS = re.compile(r"[\x21-\x7e]{1,16384}")
_REFRESH = re.compile(r"[\x20-\x7e]{1,16384}")
_SCOPE = re.compile(r"[\x21-\x7e]{1,256}")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_WORD = re.compile(r"[a-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True)
class TokenResponse:
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_success(self) -> bool:
        return self.status // 100 == HTTPStatus.OK // 100

    def document(self) -> Mapping[str, object] | None:
        """None where the body is no JSON object."""
        if len(self.body) > MAX_BYTES:
            return None
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


def parse_tokens(answer: TokenResponse, words: Mapping[str, str]) -> Tokens:
    """`words`: the provider's own for the errors of RFC 6749. An id_token is not asked for, and not looked at."""
    found = answer.document() or {}
    access = _text(found.get("access_token"), _ACCESS)
    if access is None or not answer.is_success or _says_no(found):
        raise parse_error(answer, words)
    if not _is_bearer(found.get("token_type")):
        raise GrantRefused("unsupported_token_type")
    return Tokens(
        access=access,
        refresh=_text(found.get("refresh_token"), _REFRESH),
        expires_in=_life(found.get("expires_in")),
        scopes=_scopes(found.get("scope")) or _scopes(found.get("scopes")),
        answer=found,
    )


def parse_error(answer: TokenResponse, words: Mapping[str, str]) -> GrantRefused | GrantUnavailable:
    """What an answer without tokens means for the grant."""
    word = error_word(answer.document(), words)
    return _passing(answer, word) or (GrantRefused(word) if word else GrantUnavailable("unreadable"))


def check_revoked(answer: TokenResponse, words: Mapping[str, str], *, with_client: bool) -> None:
    """Returns where the token is of no use any more: a success, whatever its body, or a no to what is gone already."""
    found = answer.document()
    if answer.is_success and not _says_no(found or {}):
        return
    word = error_word(found, words)
    if problem := _passing(answer, word):
        raise problem
    if word is None and (answer.is_success or _is_a_page(answer)):
        raise GrantUnavailable("unreadable")
    if word in ABOUT_US:
        raise GrantRefused(word)
    if with_client and answer.status == HTTPStatus.UNAUTHORIZED:
        raise GrantRefused("invalid_client")


def _passing(answer: TokenResponse, word: str | None) -> GrantUnavailable | None:
    wait = retry_after(answer.headers)
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return GrantUnavailable("failing", retry_after=wait)
    if answer.status in PASSING_STATUSES or word in PASSING_WORDS or wait is not None:
        return GrantUnavailable("busy", retry_after=wait)
    if not answer.is_success and answer.status < HTTPStatus.BAD_REQUEST:
        return GrantUnavailable("redirected")
    return None


def error_word(found: Mapping[str, object] | None, words: Mapping[str, str]) -> str | None:
    """Nothing else of what a provider says goes anywhere, so a word that is none is `unknown`."""
    for name in ("error", "code", "status"):
        said = (found or {}).get(name)
        if isinstance(said, str) and said:
            word = words.get(said, said).lower()
            return word if _WORD.fullmatch(word) else "unknown"
    return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from now, an hour at most. A date is measured by the clock that wrote it: the answer's own `Date`."""
    said = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(said):
        return min(float(said), LONGEST_WAIT)
    then, now = _date(said), _date(headers.get("date", ""))
    return min(max((then - now).total_seconds(), 0.0), LONGEST_WAIT) if then and now else None


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _says_no(found: Mapping[str, object]) -> bool:
    """Some say so with the status of a success."""
    error = found.get("error")
    return found.get("ok") is False or (isinstance(error, str) and error != "")


def _is_a_page(answer: TokenResponse) -> bool:
    """Sent by somebody in between, perhaps: of the token it tells nothing."""
    return answer.document() is None and answer.body.strip() != b""


def _is_bearer(kind: object) -> bool:
    return kind is None or (isinstance(kind, str) and kind.lower() in TOKEN_TYPES)


def _text(value: object, shape: re.Pattern[str]) -> str | None:
    return value if isinstance(value, str) and shape.fullmatch(value) else None


def _life(value: object) -> float | None:
    """None also for what cannot be meant: then the token is used until it is refused."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value <= LONGEST_LIFE else None


def _scopes(value: object) -> tuple[str, ...] | None:
    """Text or a list, split by whatever is in use; None where nothing is in it."""
    several = value if isinstance(value, list) else [value]
    said = re.split(r"[\s,]+", " ".join(each for each in several if isinstance(each, str)))
    return tuple(dict.fromkeys(each for each in said if _SCOPE.fullmatch(each)))[:MAX_SCOPES] or None
