"""`/healthz`, `/readyz`, `/metrics`, `/openapi.yaml`, `/docs`: about the process, and nothing of any workspace."""

from __future__ import annotations

import asyncio
from typing import Literal

from litestar import Response
from pydantic import TypeAdapter

from api.access.guards import NeedsOperator, OpenToAll
from api.access.peppers import SYSTEM
from api.errors import Unavailable
from api.http.dependencies import AnyRequest, provided
from api.http.models import View
from api.http.openapi.cache import Published
from api.http.operations import Doc, Reply, documented, get
from api.http.responses import OK, Answer, Ready
from api.kit.crypto.data_keys import HEAD
from api.kit.metrics import CONTENT_TYPE, Metrics
from api.kit.storage.store import Key, Store, StoreError

READY_WITHIN_SECONDS = 1.0
TAG = "System"


class StatusView(View):
    """How it is."""

    status: Literal["alive", "ready"]


STATUS = TypeAdapter(StatusView)


@get(
    "/healthz",
    guards=[OpenToAll("it says only that the process answers")],
    opt=documented(
        Doc(
            "isAlive",
            TAG,
            "Is the process alive?",
            "Touches nothing else.",
            Reply(200, "It is.", STATUS, {"status": "alive"}),
        )
    ),
)
async def healthz() -> Response[bytes]:
    return Answer(200, STATUS.dump_json(StatusView(status="alive"))).response()


@get(
    "/readyz",
    guards=[OpenToAll("it says only whether the store answers")],
    opt=documented(
        Doc(
            "isReady",
            TAG,
            "Can it serve?",
            "Asks the store, for a second at the most.",
            Reply(200, "It can.", STATUS, {"status": "ready"}),
            problems=[Unavailable],
        )
    ),
)
async def readyz(request: AnyRequest) -> Response[bytes]:
    store = provided(request, Store)
    try:
        async with asyncio.timeout(READY_WITHIN_SECONDS):
            await store.get(Key(SYSTEM, HEAD))
    except (StoreError, TimeoutError) as error:
        raise Unavailable("The store does not answer.") from error
    return Answer(200, STATUS.dump_json(StatusView(status="ready"))).response()


@get(
    "/metrics",
    guards=[NeedsOperator()],
    opt=documented(
        Doc(
            "getMetrics",
            TAG,
            "Read the metrics",
            "In Prometheus' text format, of the process that answers; none is about one workspace. Several processes "
            "count each for itself: collect from the ports that `PLUGBOARD_METRICS_PORT` gives them.",
            Reply(200, "The metrics.", media_type="text/plain"),
        )
    ),
)
async def metrics(request: AnyRequest) -> Response[bytes]:
    return Ready(OK, provided(request, Metrics).text(), {}, CONTENT_TYPE)


@get(
    "/openapi.yaml",
    guards=[OpenToAll("the contract is public")],
    opt=documented(
        Doc(
            "getContract",
            TAG,
            "Read this contract",
            "OpenAPI 3.1.",
            Reply(200, "The contract.", media_type="application/yaml"),
        )
    ),
)
async def openapi_yaml(request: AnyRequest) -> Response[bytes]:
    published: Published = request.app.state.published
    return Response(await asyncio.to_thread(lambda: published.yaml), media_type="application/yaml")


@get(
    "/docs",
    guards=[OpenToAll("the contract is public")],
    opt=documented(
        Doc(
            "getDocs", TAG, "Read this contract as a page", "For people.", Reply(200, "A page.", media_type="text/html")
        )
    ),
)
async def docs(request: AnyRequest) -> Response[bytes]:
    published: Published = request.app.state.published
    return Response(await asyncio.to_thread(lambda: published.page), media_type="text/html")


ROUTES = [healthz, readyz, metrics, openapi_yaml, docs]
