"""Paths of HubSpot's API, and the meaning of its responses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus

from integrations.json_object import Json
from integrations.service_client import (
    CredentialRejected,
    RateLimited,
    Rejected,
    Reply,
    ServerTrouble,
    ServiceClient,
    Verdict,
)
from integrations.text import objects, one_line

VERSION = "2026-09"
"""The API version in every path. The manifest cannot import it, so a test compares its URLs with it."""
OBJECTS, OWNERS = f"/crm/objects/{VERSION}", f"/crm/owners/{VERSION}"
PROPERTIES, PIPELINES = f"/crm/properties/{VERSION}", f"/crm/pipelines/{VERSION}/deals"
DETAILS = f"/account-info/{VERSION}/details"

NOT_FOUND = "HubSpot found nothing at this address."
FORBIDDEN = (
    "HubSpot does not allow this connection to view that: {} The user who connected it needs permission to view it. "
    "An admin grants it in HubSpot under Settings > Users & Teams."
)
DAILY_LIMIT_REACHED = (
    "The account has reached HubSpot's daily request limit. The limit is reset at midnight in the account's time zone."
)
LOCKED = HTTPStatus.LOCKED
LONGEST_MESSAGE, MOST_ERRORS = 500, 5
LOCKED_SECONDS = 2.0
WINDOWS = {"SECONDLY": 1.0, "TEN_SECONDLY_ROLLING": 10.0}
"""Seconds until a limit is free again, by its policy name, because no header gives them."""
_SECONDS = re.compile(r"[0-9]{1,6}")


class HubSpotApi(ServiceClient):
    def verdict(self, reply: Reply) -> Verdict:
        body: Json = reply.body if isinstance(reply.body, dict) else {}
        match reply.status:
            case HTTPStatus.OK:
                return None if isinstance(reply.body, dict) else ServerTrouble(self.unexpected_response_text(reply))
            case HTTPStatus.UNAUTHORIZED:
                return CredentialRejected()
            case HTTPStatus.TOO_MANY_REQUESTS | HTTPStatus.LOCKED | 477:
                return _rate_limit(reply, body)
            case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return ServerTrouble(self.unavailable_text(reply))
            case _:
                return _rejection(reply, body, self.unexpected_response_text(reply))


def _rate_limit(reply: Reply, body: Json) -> Verdict:
    policy = str(body.get("policyName", "")).upper()
    if policy == "DAILY":
        return Rejected(DAILY_LIMIT_REACHED, "rate_limited")
    if reply.status == LOCKED:
        return RateLimited(LOCKED_SECONDS)
    retry_after = reply.headers.get("retry-after", "")
    return RateLimited(float(retry_after) if _SECONDS.fullmatch(retry_after) else WINDOWS.get(policy))


def _rejection(reply: Reply, body: Json, unexpected: str) -> Rejected:
    message = _message(body)
    match reply.status:
        case HTTPStatus.NOT_FOUND:
            return Rejected(NOT_FOUND)
        case HTTPStatus.FORBIDDEN:
            return Rejected(_forbidden(body, message))
        case HTTPStatus.BAD_REQUEST:
            return Rejected(f"HubSpot does not accept these arguments: {message}", "invalid_arguments")
        case status:
            return Rejected(f"HubSpot refused the request ({status}): {message}" if body else unexpected)


def _forbidden(body: Json, message: str) -> str:
    scopes = sorted(set(_scopes(body)))
    if not scopes and body.get("category") != "MISSING_SCOPES":
        return FORBIDDEN.format(message)
    alternatives = [f"`{scope}`" for scope in scopes if ".read" in scope] or [f"`{scope}`" for scope in scopes]
    needed = alternatives[0] if alternatives else "another scope"
    if len(alternatives) > 1:
        needed = f"one of {', '.join(alternatives)}"
    return (
        f"The connection to HubSpot needs {needed}. An admin has to add it to the app in HubSpot, and then "
        "reconnect the server."
    )


def _scopes(body: Json) -> Iterator[str]:
    """Alternative scopes, each of which is enough; old names of scopes are among them."""
    for context in (error.get("context") for error in objects(body.get("errors"))[:MOST_ERRORS]):
        if isinstance(context, Mapping):
            for name in ("requiredGranularScopes", "requiredScopes"):
                yield from (str(text) for text in context.get(name) or ())


def _message(body: Json) -> str:
    """The messages of an error body, any part of which may be missing."""
    messages = [body.get("message"), *(error.get("message") for error in objects(body.get("errors"))[:MOST_ERRORS])]
    unique_messages = dict.fromkeys(one_line(str(message))[:LONGEST_MESSAGE] for message in messages if message)
    sentences = [text if text.endswith((".", "!")) else f"{text}." for text in unique_messages]
    return " ".join(sentences) or "HubSpot gave no reason."
