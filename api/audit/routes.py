"""`/api/workspaces/{ws}/audit`: the audit trail, newest first."""

from __future__ import annotations

from litestar import Response
from pydantic import TypeAdapter

from api.access.context import WorkspaceContext
from api.access.guards import RequiresScope
from api.access.principal import Scope
from api.audit.journal import Journal
from api.audit.repository import RecordKind
from api.audit.schemas import AuditView
from api.errors import ValidationFailed
from api.http.dependencies import Injected
from api.http.openapi import examples
from api.http.operations import OperationDoc, Parameter, SuccessResponse, documented, get
from api.http.pagination import PAGING, Paging
from api.http.request import AnyRequest

MANY = TypeAdapter(list[AuditView])
KIND = Parameter(
    "kind",
    "`config`: only configuration changes. `calls`: only tool calls.",
    {"type": "string", "enum": [kind.value for kind in RecordKind]},
)


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
            "never change.",
            SuccessResponse.many(MANY, examples.RECORD),
            parameters=[*PAGING, KIND],
        )
    ),
)
async def list_audit(
    request: AnyRequest, context: Injected[WorkspaceContext], journal: Injected[Journal], paging: Injected[Paging]
) -> Response[bytes]:
    records = await journal.page(context, paging.one_more, paging.after, _kinds(request))
    return paging.answer(records, AuditView.of, MANY, lambda record: record.id).response()


def _kinds(request: AnyRequest) -> list[RecordKind]:
    kind = request.query_params.get("kind")
    if kind is None:
        return list(RecordKind)
    if kind not in set(RecordKind):
        raise ValidationFailed.at("kind", f"Must be one of: {', '.join(RecordKind)}.")
    return [RecordKind(kind)]


ROUTES = [list_audit]
