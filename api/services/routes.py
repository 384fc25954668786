"""`/api/services`: what can be chosen as a server's `serviceType`, beside `external`."""

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
            "List the services",
            "What each needs of a server's fields and of the operator's set-up, and which tools it has. All in one "
            "page; any valid key may read it.",
            SuccessResponse(200, "All of them.", MANY, [EXAMPLE]),
        )
    ),
)
async def list_services(services: Injected[ServiceList]) -> Response[bytes]:
    return StoredResponse(200, MANY.dump_json(services.views(), by_alias=True)).response()


ROUTES = [list_services]
