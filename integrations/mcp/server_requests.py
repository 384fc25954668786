"""Responses to requests of a server to its client, before it completes a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from integrations.errors import UnreadableResponse
from integrations.json_object import Json

OF_ONE_ROUND = frozenset({"inputResponses", "requestState"})
NO_PERSON = "The server requested input from a person, which Plugboard does not support."
INVALID_REQUEST = "The server requested input in an invalid way."


class Respondent(Protocol):
    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The client capabilities that are announced to a server."""
        ...

    async def answer(self, method: str, params: Mapping[str, Any]) -> Json | None:
        """The response, or None if the method is not supported."""
        ...


class Nobody:
    capabilities: Mapping[str, Any] = {}

    async def answer(self, method: str, params: Mapping[str, Any]) -> Json | None:
        """No method is supported."""


NOBODY = Nobody()


async def inputs(respondent: Respondent, result: Json) -> Json:
    """The additional fields of the repeated request. The server's state is returned unchanged."""
    match {name: result.get(name) for name in ("inputRequests", "requestState")}:
        case {"inputRequests": dict(input_requests), "requestState": None}:
            return {"inputResponses": await _responses(respondent, input_requests)}
        case {"inputRequests": dict(input_requests), "requestState": str(state)}:
            return {"inputResponses": await _responses(respondent, input_requests), "requestState": state}
        case {"inputRequests": None, "requestState": str(state)}:
            return {"requestState": state}
        case _:
            raise UnreadableResponse(INVALID_REQUEST)


async def _responses(respondent: Respondent, input_requests: Mapping[str, object]) -> Json:
    return {key: await _respond(respondent, request) for key, request in input_requests.items()}


async def _respond(respondent: Respondent, request: object) -> Json:
    match request:
        case {"method": str(method), **rest}:
            params = rest.get("params")
            response = await respondent.answer(method, params if isinstance(params, dict) else {})
        case _:
            raise UnreadableResponse(INVALID_REQUEST)
    if response is None:
        raise UnreadableResponse(NO_PERSON)
    return response
