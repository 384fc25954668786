"""How is Linear asked, and what does it mean by an answer? It has one GraphQL endpoint, with errors of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from integrations.api import Api, Busy, No, Reply, ToolFailed, Trouble, Unauthorized, Verdict
from integrations.errors import Unreadable
from integrations.linear.problems import BUSY, UNKNOWN_TOKEN, left_out, problems_in, refusal

Json = dict[str, Any]
M = TypeVar("M", bound=BaseModel)

LONGEST_WAIT = 3600.0
SHARE = 10
LIMITS = ("x-ratelimit-endpoint-requests", "x-ratelimit-requests", "x-ratelimit-complexity")
NOT_READ = "Linear answered otherwise than its schema promises."
_SECONDS = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Answer:
    data: Json
    notes: tuple[str, ...] = ()
    """What Linear left out, for a model."""


class LinearApi(Api):
    def verdict(self, reply: Reply) -> Verdict:
        problems = problems_in(reply.body)
        words = frozenset[str]().union(*(each.words for each in problems))
        if reply.status == HTTPStatus.UNAUTHORIZED or words & UNKNOWN_TOKEN:
            return Unauthorized()
        if reply.status == HTTPStatus.TOO_MANY_REQUESTS or words & BUSY:
            return Busy(_seconds(reply.headers))
        if isinstance(_data(reply.body), dict) and reply.status == HTTPStatus.OK:
            return None
        return refusal(problems[0]) if problems else _no_graphql(reply)

    async def ask(self, document: str, variables: Mapping[str, object]) -> Answer:
        """A query, and never anything else: it may be sent again."""
        given = {name: value for name, value in variables.items() if value is not None}
        body: Json = await self.sent("POST", "/graphql", body={"query": document, "variables": given}, reads=True)
        return Answer(body["data"], tuple(left_out(problems_in(body))))

    async def ask_some(self, document: str, variables: Mapping[str, object], size: str = "first") -> Answer:
        """Fewer, where the answer would be more than is taken in: a cursor leads to the others."""
        try:
            return await self.ask(document, variables)
        except Unreadable:
            most = variables.get(size)
            fewer = most // SHARE if isinstance(most, int) else 0
            if not fewer:
                raise
            return await self.ask(document, {**variables, size: fewer})


def read(kind: type[M], value: object) -> M:
    """What Linear answered, held to what its schema promises."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise ToolFailed("upstream_unavailable", f"{NOT_READ} Try again later.") from error


def _data(body: object) -> object:
    return body.get("data") if isinstance(body, dict) else None


def _no_graphql(reply: Reply) -> Verdict:
    told = f"{reply.status} {reply.reason}".strip()
    if HTTPStatus.BAD_REQUEST <= reply.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return No(f"Linear refused the request: {told}.")
    if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Trouble(f"Linear is not available ({told}).")
    return Trouble(f"Linear did not answer as its API does ({told}).")


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Until there is room again. Linear tells the time of that, so it is asked what time it is there."""
    if _SECONDS.fullmatch(given := headers.get("retry-after", "")):
        return min(float(given), LONGEST_WAIT)
    used_up = [limit for limit in LIMITS if headers.get(f"{limit}-remaining", "").split(".")[0] in ("0", "-0")]
    resets = [text for limit in used_up if _SECONDS.match(text := headers.get(f"{limit}-reset", ""))]
    now = _said_at(headers.get("date", ""))
    if not resets or now is None:
        return None
    return min(max(*(float(reset) / 1000 - now for reset in resets), 0.0), LONGEST_WAIT)


def _said_at(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None
