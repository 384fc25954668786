"""`/api/workspaces/{ws}/audit`: the audit trail, newest first."""

from __future__ import annotations

from functools import partial

from litestar import Response
from pydantic import TypeAdapter

from api.access.context import WorkspaceContext
from api.access.guards import RequiresScope
from api.access.principal import Scope
from api.audit.filters import FILTERS, AuditFilter
from api.audit.journal import Journal
from api.audit.schemas import AuditView
from api.http.dependencies import Injected
from api.http.openapi import examples
from api.http.operations import OperationDoc, SuccessResponse, documented, get
from api.http.pagination import PAGES, PAGING, Paging
from api.http.request import AnyRequest
from api.http.selection import select

MANY = TypeAdapter(list[AuditView])


@get(
    "/api/workspaces/{workspace_id:str}/audit",
    guards=[RequiresScope(Scope.ADMIN)],
    opt=documented(
        OperationDoc(
            "listAudit",
            "Audit",
            "Read the audit trail",
            "Who did what, newest first. The record of a change is written together with the change. A tool call is "
            "recorded within a second: who made it and how it ended, but never its arguments or its result. Records "
            f"never change, and are kept for the time that the operator sets. {PAGES}",
            SuccessResponse.many(MANY, examples.RECORD),
            parameters=[*PAGING, *FILTERS],
        )
    ),
)
async def list_audit(
    request: AnyRequest, context: Injected[WorkspaceContext], journal: Injected[Journal], paging: Injected[Paging]
) -> Response[bytes]:
    wanted = AuditFilter.of(request)
    read = partial(journal.page, context, kinds=wanted.kinds, since=wanted.since, until=wanted.until)
    page = await select(paging, read, lambda record: record.id, wanted.predicate)
    return paging.answer([AuditView.of(record) for record in page.items], MANY, page.last).response()


ROUTES = [list_audit]
