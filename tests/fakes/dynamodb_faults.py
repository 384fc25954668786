"""What goes wrong between a boto3 client and DynamoDB, done by botocore's own hooks on one client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ReadTimeoutError

Fault = Callable[[AWSPreparedRequest], AWSResponse | None]


class Faults:
    """Each request of the client goes through the next of the faults given; when they are used up, it passes."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self._next: dict[str, Iterable[Fault]] = {}
        client.meta.events.register("before-send.dynamodb", self._send)

    def put(self, operation: str, faults: Iterable[Fault]) -> None:
        self._next[operation] = iter(faults)

    def count(self, operation: str) -> int:
        return sum(name == operation for name, _ in self.sent)

    def _send(self, request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse | None:
        operation = event_name.rpartition(".")[2]
        self.sent.append((operation, body_of(request)))
        fault = next(iter(self._next.get(operation, ())), passes)
        return fault(request)

    def lost_answer(self, request: AWSPreparedRequest) -> AWSResponse | None:
        """The request is executed and its response is lost."""
        self.client._endpoint.http_session.send(request)
        raise ReadTimeoutError(endpoint_url=request.url)

    def failed_answer(self, request: AWSPreparedRequest) -> AWSResponse | None:
        """The request is executed and the response is an internal error."""
        self.client._endpoint.http_session.send(request)
        return refused("InternalServerError", status=500)(request)


def body_of(request: AWSPreparedRequest) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(request.body)
    return body


def passes(_: AWSPreparedRequest) -> None:
    return None


def lost_request(request: AWSPreparedRequest) -> AWSResponse | None:
    """It never arrives; from here that looks the same as a lost answer."""
    raise ReadTimeoutError(endpoint_url=request.url)


def answers(body: dict[str, Any], status: int = 200) -> Fault:
    def answer(request: AWSPreparedRequest) -> AWSResponse:
        headers = {"content-type": "application/x-amz-json-1.0"}
        return AWSResponse(request.url, status, headers, _Raw(json.dumps(body).encode()))

    return answer


def refused(code: str, message: str = "no", status: int = 400, **fields: Any) -> Fault:
    return answers({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **fields}, status)


def cancelled(*codes: str) -> Fault:
    return refused("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])


throttled = refused("ThrottlingException")


class _Raw(BytesIO):
    def stream(self, **_: object) -> Iterable[bytes]:
        yield self.read()
