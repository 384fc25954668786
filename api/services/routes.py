"""`/api/services`: the values of a server's `serviceType` other than `external`."""

from __future__ import annotations

from litestar import Response
from pydantic import TypeAdapter

from api.access.guards import RequiresAnyKey
from api.http.dependencies import Injected
from api.http.operations import OperationDoc, SuccessResponse, documented, get
from api.http.responses import StoredResponse
from api.services.schemas import EXAMPLE, ServiceView
from api.services.service import ServiceList

MANY = TypeAdapter(list[ServiceView])


@get(
    "/api/services",
    guards=[RequiresAnyKey()],
    opt=documented(
        OperationDoc(
            "listServices",
            "Services",
            "List services",
            "The fields and the operator's configuration that each service requires, and its tools. All in one page; "
            "any valid key may read it.",
            SuccessResponse(200, "All services.", MANY, [EXAMPLE]),
        )
    ),
)
async def list_services(services: Injected[ServiceList]) -> Response[bytes]:
    return StoredResponse(200, MANY.dump_json(services.views(), by_alias=True)).response()


ROUTES = [list_services]
