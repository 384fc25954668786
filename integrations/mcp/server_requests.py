"""Answers to what a server requests of its client before it completes a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from integrations.errors import UnreadableResponse
from integrations.json_object import Json

OF_ONE_ROUND = frozenset({"inputResponses", "requestState"})
NOBODY_THERE = "The server requested input from a person, which Plugboard does not support."
UNCLEAR = "The server requested input in an invalid way."


class Respondent(Protocol):
    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What a server is told that it may ask for, in the protocol's own names."""
        ...

    async def answer(self, method: str, params: Mapping[str, Any]) -> Json | None:
        """None where that is not answered."""
        ...


class Nobody:
    capabilities: Mapping[str, Any] = {}

    async def answer(self, method: str, params: Mapping[str, Any]) -> Json | None:
        """Whatever it is."""


NOBODY = Nobody()


async def inputs(respondent: Respondent, result: Json) -> Json:
    """What a request says in addition when it is made again. The server's state goes back as it came, or not at all."""
    match {name: result.get(name) for name in ("inputRequests", "requestState")}:
        case {"inputRequests": dict(wanted), "requestState": None}:
            return {"inputResponses": await _answers(respondent, wanted)}
        case {"inputRequests": dict(wanted), "requestState": str(state)}:
            return {"inputResponses": await _answers(respondent, wanted), "requestState": state}
        case {"inputRequests": None, "requestState": str(state)}:
            return {"requestState": state}
        case _:
            raise UnreadableResponse(UNCLEAR)


async def _answers(respondent: Respondent, wanted: Mapping[str, object]) -> Json:
    return {key: await _answer(respondent, request) for key, request in wanted.items()}


async def _answer(respondent: Respondent, request: object) -> Json:
    match request:
        case {"method": str(method), **rest}:
            params = rest.get("params")
            answer = await respondent.answer(method, params if isinstance(params, dict) else {})
        case _:
            raise UnreadableResponse(UNCLEAR)
    if answer is None:
        raise UnreadableResponse(NOBODY_THERE)
    return answer
