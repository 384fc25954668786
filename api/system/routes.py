"""`/healthz`, `/readyz`, `/metrics`, `/openapi.yaml`, `/docs`: about the process, not about workspaces."""

from __future__ import annotations

import asyncio
from typing import Literal

from litestar import Response
from litestar.params import FromPath
from pydantic import Field, TypeAdapter

from api.access.guards import Public, RequiresOperator
from api.access.peppers import SYSTEM
from api.errors import ServiceUnavailable
from api.http.dependencies import Injected
from api.http.models import ResponseModel
from api.http.openapi.published import PublishedContract
from api.http.operations import OperationDoc, SuccessResponse, documented, get
from api.http.request import AnyRequest
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


class ProcessStatusView(ResponseModel):
    """The state of the process."""

    status: Literal["alive", "ready"] = Field(description="`alive` for `/healthz`, `ready` for `/readyz`.")


STATUS = TypeAdapter(ProcessStatusView)


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
    return StoredResponse(200, STATUS.dump_json(ProcessStatusView(status="alive"))).response()


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
    return StoredResponse(200, STATUS.dump_json(ProcessStatusView(status="ready"))).response()


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


NOT_MODIFIED = SuccessResponse(304, "The client has the current version, as its `If-None-Match` says.")


@get(
    "/openapi.yaml",
    guards=[Public("the contract is public")],
    opt=documented(
        OperationDoc(
            "getContract",
            TAG,
            "Read the OpenAPI document",
            "OpenAPI 3.1, with an `ETag`.",
            SuccessResponse(200, "The OpenAPI document.", media_type="application/yaml"),
            not_modified=NOT_MODIFIED,
        )
    ),
)
async def openapi_yaml(openapi: Injected[PublishedContract], request: AnyRequest) -> Response[bytes]:
    return await (await openapi.document()).response(request)


@get(
    "/docs",
    guards=[Public("the contract is public")],
    opt=documented(
        OperationDoc(
            "getDocs",
            TAG,
            "Read the API reference",
            "A page that shows the OpenAPI document, with search and requests to copy. It needs no other host.",
            SuccessResponse(200, "An HTML page.", media_type="text/html"),
            not_modified=NOT_MODIFIED,
        )
    ),
)
async def docs(openapi: Injected[PublishedContract], request: AnyRequest) -> Response[bytes]:
    return await (await openapi.page()).response(request)


@get(
    "/docs/{file_name:str}",
    guards=[Public("the scripts of a public page")],
    opt=documented(
        OperationDoc(
            "getDocsFile",
            TAG,
            "Read a script of the API reference",
            "The name has the hash of the content, so that browsers can keep the file for ever.",
            SuccessResponse(200, "A script.", media_type="text/javascript"),
            not_modified=NOT_MODIFIED,
        )
    ),
)
async def docs_file(
    file_name: FromPath[str], openapi: Injected[PublishedContract], request: AnyRequest
) -> Response[bytes]:
    return await (await openapi.script(file_name)).response(request)


ROUTES = [healthz, readyz, get_metrics, openapi_yaml, docs, docs_file]
