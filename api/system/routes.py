"""`/healthz`, `/readyz`, `/metrics`, `/openapi.yaml`, `/docs`: about the process, not about workspaces."""

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
from api.kit.crypto.data_keys import HEAD, KeyRing
from api.kit.metrics import CONTENT_TYPE, Metrics
from api.kit.storage.store import Key, Losable, Store, StoreError, StoreLost

READY_WITHIN_SECONDS = 1.0
NO_ROOT_KEY = (
    "A root key that stored data needs is not configured. The log names it. Configure it as PLUGBOARD_ROOT_KEY or "
    "PLUGBOARD_KMS_KEY_ID, beside the others, and restart; `plugboard doctor` checks all keys."
)
TAG = "System"


class StatusView(ResponseModel):
    """The state of the process."""

    status: Literal["alive", "ready"]


STATUS = TypeAdapter(StatusView)


@get(
    "/healthz",
    guards=[Public("reports only that the process is alive")],
    opt=documented(
        OperationDoc(
            "isAlive",
            TAG,
            "Check that the process is alive",
            "Uses nothing but the process itself.",
            SuccessResponse(200, "The process is alive.", STATUS, {"status": "alive"}),
        )
    ),
)
async def healthz() -> Response[bytes]:
    return StoredResponse(200, STATUS.dump_json(StatusView(status="alive"))).response()


@get(
    "/readyz",
    guards=[Public("reports only whether the store responds and all root keys are there")],
    opt=documented(
        OperationDoc(
            "isReady",
            TAG,
            "Check that the process can serve",
            "Reads from the store, within one second. A process that lacks a root key for stored data is not ready.",
            SuccessResponse(200, "The process can serve.", STATUS, {"status": "ready"}),
            problems=[ServiceUnavailable],
        )
    ),
)
async def readyz(store: Injected[Store], key_ring: Injected[KeyRing]) -> Response[bytes]:
    try:
        async with asyncio.timeout(READY_WITHIN_SECONDS):
            await store.get(Key(SYSTEM, HEAD))
        if isinstance(store, Losable):
            store.check_place()
    except StoreLost as error:
        raise ServiceUnavailable("The database file was removed or replaced: restore it, then restart.") from error
    except (StoreError, TimeoutError) as error:
        raise ServiceUnavailable("The store does not respond.") from error
    if key_ring.missing_roots:
        raise ServiceUnavailable(NO_ROOT_KEY)
    return StoredResponse(200, STATUS.dump_json(StatusView(status="ready"))).response()


@get(
    "/metrics",
    guards=[RequiresOperator()],
    opt=documented(
        OperationDoc(
            "getMetrics",
            TAG,
            "Read the metrics",
            "The metrics of the process that answers, in Prometheus' text format; none is about one workspace. The "
            "port `PLUGBOARD_METRICS_PORT` has the sums over all processes of a `plugboard serve`.",
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
            "Read the OpenAPI document",
            "OpenAPI 3.1.",
            SuccessResponse(200, "The OpenAPI document.", media_type="application/yaml"),
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
            "Read the API reference",
            "The OpenAPI document as an HTML page.",
            SuccessResponse(200, "An HTML page.", media_type="text/html"),
        )
    ),
)
async def docs(openapi: Injected[OpenApiCache]) -> Response[bytes]:
    return Response(await asyncio.to_thread(lambda: openapi.page), media_type="text/html")


ROUTES = [healthz, readyz, get_metrics, openapi_yaml, docs]
