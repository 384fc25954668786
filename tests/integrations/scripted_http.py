"""A vendor as a test has written it down: what it answers, one after the other, and what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from integrations.service_client import ServiceClient

A = TypeVar("A", bound=ServiceClient)


@dataclass(frozen=True)
class ScriptedResponse:
    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""

    async def read(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    async def chunks(self) -> AsyncIterator[bytes]:
        yield await self.read()


class PermanentCredential:
    """One credential that never ends, and time enough."""

    def current_credential(self) -> object:
        return None

    async def renew(self, rejected: object) -> bool:  # noqa: ARG002
        return False

    def seconds_left(self) -> float:
        return 30.0


class ScriptedVendor(PermanentCredential, Generic[A]):
    """Of one vendor, which a test names in a class of its own."""

    kind: type[A]
    origin: str

    def __init__(self, *answers: ScriptedResponse | Exception, seconds_left: float = 30.0) -> None:
        self._answers = list(answers)
        self._seconds_left = seconds_left
        self.requests: list[str] = []
        self.pauses: list[float] = []

    @property
    def api(self) -> A:
        return self.kind(self, self.origin, self._pause)

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],  # noqa: ARG002  the port is like that
        body: bytes = b"",  # noqa: ARG002
        *,
        lasting: bool = False,  # noqa: ARG002
    ) -> AsyncIterator[ScriptedResponse]:
        self.requests.append(f"{method} {url.removeprefix(self.origin)}")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield answer

    def seconds_left(self) -> float:
        return self._seconds_left - sum(self.pauses)

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
