"""The client of Notion's API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar, Literal

from integrations.json_object import Json
from integrations.notion.errors import (
    NO_TEXT,
    REFUSED,
    additional_data,
    rate_limit,
    rejection,
    require_existing,
    server_trouble,
)
from integrations.service_client import (
    MAYBE_DONE,
    CredentialRejected,
    Reply,
    ServerTrouble,
    ServiceClient,
    ToolFailed,
    Verdict,
)

VERSION = "2025-09-03"
OVERLOADED = 529
MAX_PAGE = 100


class NotionClient(ServiceClient):
    headers: ClassVar[Mapping[str, str]] = {"Notion-Version": VERSION}

    async def read(self, path: str, query: Mapping[str, object] | None = None) -> Json:
        """Read an object; raises `ObjectNotFound` if Notion finds nothing."""
        return require_existing(await self.get(path, query))

    async def query(self, path: str, body: Json) -> Json:
        """Send a POST that changes nothing."""
        return require_existing(await self.request("POST", path, body=body, reads=True))

    async def write(
        self, method: Literal["POST", "PATCH"], path: str, body: Json, *, check: str, if_rejected: str
    ) -> Json:
        """`check`: how to check the outcome if the response is lost. `if_rejected`: a text for a rejected request."""
        _require_encodable(body)
        try:
            return require_existing(await self.request(method, path, body=body, if_lost=f"{MAYBE_DONE} {check}"))
        except ToolFailed as failed:
            if failed.kind in REFUSED:
                failed.text = f"{failed.text} {if_rejected}".strip()
            raise

    def seconds_left(self) -> float:
        return self._http.seconds_left()

    def verdict(self, reply: Reply) -> Verdict:
        if reply.status == HTTPStatus.OK:
            is_object = isinstance(reply.body, dict)
            return None if is_object else ServerTrouble(self.unexpected_response_text(reply))
        error = reply.body if isinstance(reply.body, dict) else {}
        match reply.status:
            case HTTPStatus.UNAUTHORIZED:
                return CredentialRejected()
            case HTTPStatus.TOO_MANY_REQUESTS | 529:
                return rate_limit(reply.headers, error)
            case HTTPStatus.CONFLICT:
                return ServerTrouble(
                    "Notion did not apply the change: another change to the same object was under way.",
                    not_applied=True,
                )
            case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return server_trouble(self.unavailable_text(reply), additional_data(error))
            case status:
                is_documented = error and status != HTTPStatus.REQUEST_TIMEOUT
                return (
                    rejection(status, error) if is_documented else ServerTrouble(self.unexpected_response_text(reply))
                )


def _require_encodable(body: Json) -> None:
    """Fail before anything is sent if the body cannot be encoded."""
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except ValueError as error:
        raise ToolFailed("invalid_arguments", NO_TEXT) from error
