"""`/healthz`, `/readyz`, `/metrics`, `/openapi.yaml`, `/docs`: about the process, and nothing of any workspace."""

from __future__ import annotations

import asyncio
from typing import Literal

from litestar import Response
from pydantic import TypeAdapter

from api.access.guards import Public, RequiresOperator
from api.access.peppers import SYSTEM
from api.errors import ServiceUnavailable
from api.http.dependencies import Injected
from api.http.models import ResponseModel
from api.http.openapi.generate import OpenApiCache
from api.http.operations import OperationDoc, SuccessResponse, documented, get
from api.http.responses import OK, BytesResponse, StoredResponse
from api.kit.crypto.data_keys import HEAD
from api.kit.metrics import CONTENT_TYPE, Metrics
from api.kit.storage.store import Key, Store, StoreError

READY_WITHIN_SECONDS = 1.0
TAG = "System"


class StatusView(ResponseModel):
    """How it is."""

    status: Literal["alive", "ready"]


STATUS = TypeAdapter(StatusView)


@get(
    "/healthz",
    guards=[Public("it says only that the process answers")],
    opt=documented(
        OperationDoc(
            "isAlive",
            TAG,
            "Is the process alive?",
            "Touches nothing else.",
            SuccessResponse(200, "It is.", STATUS, {"status": "alive"}),
        )
    ),
)
async def healthz() -> Response[bytes]:
    return StoredResponse(200, STATUS.dump_json(StatusView(status="alive"))).response()


@get(
    "/readyz",
    guards=[Public("it says only whether the store answers")],
    opt=documented(
        OperationDoc(
            "isReady",
            TAG,
            "Can it serve?",
            "Asks the store, for a second at the most.",
            SuccessResponse(200, "It can.", STATUS, {"status": "ready"}),
            problems=[ServiceUnavailable],
        )
    ),
)
async def readyz(store: Injected[Store]) -> Response[bytes]:
    try:
        async with asyncio.timeout(READY_WITHIN_SECONDS):
            await store.get(Key(SYSTEM, HEAD))
    except (StoreError, TimeoutError) as error:
        raise ServiceUnavailable("The store does not answer.") from error
    return StoredResponse(200, STATUS.dump_json(StatusView(status="ready"))).response()


@get(
    "/metrics",
    guards=[RequiresOperator()],
    opt=documented(
        OperationDoc(
            "getMetrics",
            TAG,
            "Read the metrics",
            "In Prometheus' text format, of the process that answers; none is about one workspace. Several processes "
            "count each for itself: collect from the ports that `PLUGBOARD_METRICS_PORT` gives them.",
            SuccessResponse(200, "The metrics.", media_type="text/plain"),
        )
    ),
)
async def get_metrics(metrics: Injected[Metrics]) -> Response[bytes]:
    return BytesResponse(OK, metrics.text(), {}, CONTENT_TYPE)


@get(
    "/openapi.yaml",
    guards=[Public("the contract is public")],
    opt=documented(
        OperationDoc(
            "getContract",
            TAG,
            "Read this contract",
            "OpenAPI 3.1.",
            SuccessResponse(200, "The contract.", media_type="application/yaml"),
        )
    ),
)
async def openapi_yaml(openapi: Injected[OpenApiCache]) -> Response[bytes]:
    return Response(await asyncio.to_thread(lambda: openapi.yaml), media_type="application/yaml")


@get(
    "/docs",
    guards=[Public("the contract is public")],
    opt=documented(
        OperationDoc(
            "getDocs",
            TAG,
            "Read this contract as a page",
            "For people.",
            SuccessResponse(200, "A page.", media_type="text/html"),
        )
    ),
)
async def docs(openapi: Injected[OpenApiCache]) -> Response[bytes]:
    return Response(await asyncio.to_thread(lambda: openapi.page), media_type="text/html")


ROUTES = [healthz, readyz, get_metrics, openapi_yaml, docs]
