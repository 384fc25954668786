"""Runs a script in an environment of its own; the result is its responses in normal form."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import httpx2

from tests.harness import NO_TLS, PATIENCE_SECONDS, caller
from tests.http.operations_on_workspace import OPERATIONS
from tests.recorded.environment import Environment, open_environment
from tests.recorded.normal_form import normal_body, normal_headers
from tests.recorded.placeholders import Placeholders, masked
from tests.recorded.script import (
    ABSENT,
    ANONYMOUS,
    ClockAdvance,
    Consent,
    ProviderChange,
    RawRequest,
    Request,
    Revocations,
    Script,
    Step,
)
from tests.recorded.upstream_log import UpstreamLog

Json = dict[str, Any]
CANARY = "canary"
"""A part of every secret in the scripts. No response may contain it."""
PUBLIC = "http://127.0.0.1:8400"
"""The public URL of Plugboard."""
TEMPLATES = [(str(each), each.method, re.compile(re.sub(r"\{\w+\}", "[^/]+", each.path))) for each in OPERATIONS]


def run(script: Script) -> Json:
    """Each response with the requests sent to upstreams for it, and the requests sent in the background."""
    with TemporaryDirectory() as data_dir:
        with open_environment(Path(data_dir)) as environment, closing(Runner(environment)) as runner:
            responses = [entry for step in script for entry in runner.run(step)]
        return {"responses": responses, "background": runner.background()}


def operation_of(method: str, path: str) -> str:
    """Empty for a request that is not in the contract."""
    plain, verb = path.partition("?")[0], "GET" if method == "HEAD" else method
    return next((name for name, known, form in TEMPLATES if known == verb and form.fullmatch(plain)), "")


class Runner:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._variables = environment.variables
        self._client = caller(environment.plugboard.url)
        self._placeholders = Placeholders()
        self._responses = 0
        self._log = UpstreamLog(environment)

    def close(self) -> None:
        self._client.close()

    def run(self, step: Step) -> Iterator[Json]:
        match step:
            case Request():
                yield self._recorded(step)
            case RawRequest():
                yield self._entry(step.name, "", self._exchanged(step.data))
            case ClockAdvance(seconds=seconds):
                self._environment.clock.advance(seconds)
            case ProviderChange():
                self._environment.change(step)
            case Consent():
                self._consent(step)
            case Revocations(count=count):
                _await(lambda: self._log.revocations() >= count)

    def background(self) -> list[Json]:
        """Each request once, in no order: how often a list is fetched anew depends on the load of the machine."""
        self._log.take()
        in_order = sorted(self._log.background, key=lambda entry: masked(json.dumps(entry)))
        texts = {json.dumps(self._placeholders.replace(entry), sort_keys=True) for entry in in_order}
        return [json.loads(text) for text in sorted(texts)]

    def _recorded(self, step: Request) -> Json:
        self._environment.clock.advance(1)
        response = self._sent(step)
        for name, path in step.saves.items():
            self._variables[name] = _value_at(path, response).removeprefix(PUBLIC)
        is_service = isinstance(step.json, dict) and not str(step.json.get("toolName")).startswith("mcp_")
        operation = operation_of(step.method, self._filled(step.path))
        about = {"as": step.caller, "request": f"{step.method} {step.path}"}
        return about | self._entry(step.name, operation, response, is_service=is_service)

    def _entry(self, name: str, operation: str, response: httpx2.Response, *, is_service: bool = False) -> Json:
        assert CANARY not in f"{response.text}{response.headers}", f"{name}: {response.text}"
        self._responses += 1
        self._placeholders.define(response.headers.get("X-Request-Id", ""), f"<request_id {self._responses}>")
        entry = {
            "name": name,
            "operation": operation,
            "status": response.status_code,
            "headers": normal_headers(response),
            "body": normal_body(operation, response, is_service=is_service),
        }
        upstream = self._log.take()
        replaced: Json = self._placeholders.replace(entry | ({"upstream": upstream} if upstream else {}))
        return replaced

    def _sent(self, step: Request) -> httpx2.Response:
        responses: list[httpx2.Response] = []

        def is_complete() -> bool:
            responses.append(self._client.request(step.method, self._filled(step.path), **self._parts(step)))
            return step.items is None or len(responses[-1].json()) >= step.items

        _await(is_complete)
        return responses[-1]

    def _parts(self, step: Request) -> Mapping[str, Any]:
        headers = {} if step.caller == ANONYMOUS else {"Authorization": self._filled(f"Bearer {{{step.caller}_key}}")}
        headers |= {name: self._filled(text) for name, text in step.headers.items()}
        if step.content is not None:
            return {"headers": headers, "content": step.content}
        return {"headers": headers} | ({} if step.json is ABSENT else {"json": self._filled_in(step.json)})

    def _exchanged(self, data: bytes) -> httpx2.Response:
        parts = urlsplit(self._environment.plugboard.url)
        with socket.create_connection((str(parts.hostname), int(parts.port or 80)), PATIENCE_SECONDS) as connection:
            connection.sendall(data)
            received = b"".join(iter(lambda: connection.recv(65_536), b""))
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.split(b"\r\n")
        headers = [(name, text) for name, _, text in (line.partition(b": ") for line in lines)]
        return httpx2.Response(int(status.split(b" ")[1]), headers=headers, content=body)

    def _consent(self, step: Consent) -> None:
        response = httpx2.get(self._filled(step.url), verify=NO_TLS, timeout=PATIENCE_SECONDS, trust_env=False)
        assert response.status_code == 302, response.text
        self._variables["callback"] = response.headers["Location"].removeprefix(PUBLIC)
        self._log.take()

    def _filled(self, text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: self._variables[match[1]], text)

    def _filled_in(self, value: Any) -> Any:
        match value:
            case str():
                return self._filled(value)
            case list():
                return [self._filled_in(item) for item in value]
            case dict():
                return {self._filled(name): self._filled_in(item) for name, item in value.items()}
            case _:
                return value


def _await(holds: Callable[[], bool]) -> None:
    """What does not come to hold is a difference to the recording."""
    deadline, pause = time.monotonic() + PATIENCE_SECONDS, threading.Event()
    while not holds() and time.monotonic() < deadline:
        pause.wait(0.02)


def _value_at(path: str, response: httpx2.Response) -> str:
    if path in response.headers:
        return _header_value(path, response.headers[path])
    value: Any = response.json()
    for name in path.split("."):
        value = value[int(name) if name.isdigit() else name]
    return str(value)


def _header_value(name: str, text: str) -> str:
    if name == "Link":
        return text.partition("<")[2].partition(">")[0]
    return text.partition(";")[0] if name == "Set-Cookie" else text
