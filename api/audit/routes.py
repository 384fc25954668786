"""`/api/workspaces/{ws}/audit`: the trail, newest first."""

from __future__ import annotations

from litestar import Response
from pydantic import TypeAdapter

from api.access.context import Scope
from api.access.guards import Needs
from api.audit.schemas import AuditView
from api.audit.service import Journal
from api.http import examples
from api.http.paging import PAGING, Paging
from api.http.provided import AnyRequest, provided
from api.http.routing import Doc, Reply, documented, get

MANY = TypeAdapter(list[AuditView])


@get(
    "/api/workspaces/{workspace_id:str}/audit",
    guards=[Needs(Scope.ADMIN)],
    opt=documented(
        Doc(
            "listAudit",
            "Audit",
            "Read the audit trail",
            "Who did what, newest first. Each record was written together with the change it tells of, and is never "
            "changed.",
            Reply.many(MANY, examples.RECORD),
            parameters=PAGING,
        )
    ),
)
async def list_audit(request: AnyRequest) -> Response[bytes]:
    journal = provided(request, Journal)
    paging = provided(request, Paging)
    found = await journal.page(request.state.context, paging.one_more, paging.after)
    return paging.answer(found, AuditView.of, MANY, lambda record: record.id).response()


ROUTES = [list_audit]
