"""The check of a service and a credential, by the one request that the service's manifest names."""

from __future__ import annotations

import json
from http import HTTPStatus

from integrations.errors import RpcErrorResponse, StatusRefused, UnreadableResponse
from integrations.http_port import Http
from integrations.manifest import Probe

SUCCESSES = range(200, 300)
MAX_WORD = 100


async def probe_service(http: Http, base_url: str, probe: Probe) -> None:
    """Raise an `UpstreamError` if the check fails. `http` adds the credential."""
    body = (probe.body or "").encode()
    async with http.request(probe.method, f"{base_url}{probe.path}", probe.headers, body) as reply:
        if reply.status not in SUCCESSES:
            raise StatusRefused(reply.status, reply.reason, dict(reply.headers))
        word = _word(await reply.read(), probe)
    if word in probe.unauthorized:
        raise StatusRefused(HTTPStatus.UNAUTHORIZED, "Unauthorized")
    if word is not None:
        raise RpcErrorResponse(0, word)


def _word(body: bytes, probe: Probe) -> str | None:
    if probe.error is None:
        return None
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableResponse("The answer is not JSON.") from error
    for step in probe.error.split("."):
        match value:
            case dict():
                value = value.get(step)
            case list() if step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            case _:
                return None
    return value[:MAX_WORD] if isinstance(value, str) else None
