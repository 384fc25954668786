"""The client of Linear's GraphQL API: one endpoint, with its own errors and rate limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from integrations.errors import UnreadableResponse
from integrations.json_object import Json
from integrations.linear.errors import BUSY, UNKNOWN_TOKEN, missing_field_notes, problems_in, refusal
from integrations.service_client import (
    CredentialRejected,
    RateLimited,
    Rejected,
    Reply,
    ServerTrouble,
    ServiceClient,
    ToolFailed,
    Verdict,
    too_large_hint,
)

M = TypeVar("M", bound=BaseModel)

LONGEST_WAIT = 3600.0
SHARE = 10
LIMIT_HEADERS = ("x-ratelimit-endpoint-requests", "x-ratelimit-requests", "x-ratelimit-complexity")
FEWER = "Ask for less with a smaller `first`, or open it in Linear."
INVALID_AFTER = "`after` is not a valid cursor. Start again without it."
UNREADABLE = "Linear's response does not match its schema."
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
_SECONDS = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class QueryResponse:
    data: Json
    notes: tuple[str, ...] = ()
    """Notes for the model on fields that Linear left out."""


class LinearApi(ServiceClient):
    def verdict(self, reply: Reply) -> Verdict:
        problems = problems_in(reply.body)
        codes = frozenset[str]().union(*(problem.codes for problem in problems))
        if reply.status == HTTPStatus.UNAUTHORIZED or codes & UNKNOWN_TOKEN:
            return CredentialRejected()
        if reply.status == HTTPStatus.TOO_MANY_REQUESTS or codes & BUSY:
            return RateLimited(_seconds(reply.headers))
        if isinstance(_data(reply.body), dict) and reply.status == HTTPStatus.OK:
            return None
        return refusal(problems[0]) if problems else self._verdict_without_data(reply)

    def _verdict_without_data(self, reply: Reply) -> Verdict:
        if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return ServerTrouble(self.unavailable_text(reply))
        if reply.status >= HTTPStatus.BAD_REQUEST:
            return Rejected(f"Linear refused the request: {reply.status} {reply.reason}".rstrip() + ".")
        return ServerTrouble(self.unexpected_response_text(reply))

    async def query(self, document: str, variables: Mapping[str, object]) -> QueryResponse:
        """Send a query. It changes nothing, so it may be retried."""
        values = {name: value for name, value in variables.items() if value is not None}
        body: Json = await self.request("POST", "/graphql", body={"query": document, "variables": values}, reads=True)
        return QueryResponse(body["data"], tuple(missing_field_notes(problems_in(body))))

    async def query_page(self, document: str, variables: Mapping[str, object], size: str = "first") -> QueryResponse:
        """Retry with a smaller page if the response is too large; the cursor leads to the rest."""
        with too_large_hint(FEWER), _explained_cursor(variables.get("after")):
            try:
                return await self.query(document, variables)
            except UnreadableResponse:
                most = variables.get(size)
                fewer = most // SHARE if isinstance(most, int) else 0
                if not fewer:
                    raise
                return await self.query(document, {**variables, size: fewer})


@contextmanager
def _explained_cursor(after: object) -> Iterator[None]:
    """Report invalid arguments with `after` as an invalid cursor: the others worked for the previous page."""
    try:
        yield
    except ToolFailed as failed:
        if after is None or failed.kind != "invalid_arguments":
            raise
        raise ToolFailed("invalid_arguments", INVALID_AFTER) from failed


def read(kind: type[M], value: object) -> M:
    """Validate a value from Linear against its schema."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise ToolFailed("upstream_unavailable", f"{UNREADABLE} Try again later.") from error


def _data(body: object) -> object:
    return body.get("data") if isinstance(body, dict) else None


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Seconds until the limit resets. Linear names the reset time, so its own clock (`Date`) is the reference."""
    if _SECONDS.fullmatch(value := headers.get("retry-after", "")):
        return min(float(value), LONGEST_WAIT)
    now, reset = _parse_date(headers.get("date", "")), _next_reset(headers)
    return None if now is None or reset is None else min(max(reset - now, 0.0), LONGEST_WAIT)


def _next_reset(headers: Mapping[str, str]) -> float | None:
    """The reset time of the limit with the smallest share left, which may be too small for a query."""
    resets = []
    for limit in LIMIT_HEADERS:
        left, most, moment = (_number(headers, f"{limit}-{suffix}") for suffix in ("remaining", "limit", "reset"))
        if left is not None and moment is not None and (most or not left):
            resets.append((left / most if most else 0.0, moment / 1000))
    return min(resets, key=lambda reset: reset[0])[1] if resets else None


def _number(headers: Mapping[str, str], name: str) -> float | None:
    value = headers.get(name, "")
    return max(float(value), 0.0) if _NUMBER.fullmatch(value) else None


def _parse_date(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None
