"""`/api/workspaces/{ws}/audit`: the trail, newest first."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response
from litestar.di import NamedDependency
from pydantic import TypeAdapter

from api.access.context import Scope
from api.access.guards import Needs
from api.audit.schemas import AuditView
from api.audit.service import Journal
from api.http import examples
from api.http.paging import PAGING, Paging
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
async def list_audit(
    request: Request[Any, Any, Any], journal: NamedDependency[Journal], paging: NamedDependency[Paging]
) -> Response[bytes]:
    found = await journal.page(request.state.context, paging.one_more, paging.after)
    return paging.answer(found, AuditView.of, MANY, lambda record: record.id).response()


ROUTES = [list_audit]
