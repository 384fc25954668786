"""`/api/me`: what the caller's own API key is."""

from __future__ import annotations

from typing import Annotated, Literal

from litestar import Response
from pydantic import Field, StringConstraints, TypeAdapter

from api.access.api_key import KEY_ID_PATTERN, shown_prefix
from api.access.context import OperatorContext, WorkspaceContext
from api.access.guards import RequiresAnyKey
from api.access.principal import Scope
from api.http.dependencies import Injected
from api.http.models import ResponseModel, Timestamp
from api.http.openapi import examples
from api.http.operations import OperationDoc, SuccessResponse, documented, get
from api.http.responses import OK, StoredResponse, encode


class CallerView(ResponseModel):
    """The API key that the request was made with, without its secret."""

    kind: Literal["api_key", "operator"] = Field(description="`api_key`: a key of a workspace.")
    id: Annotated[str, StringConstraints(pattern=KEY_ID_PATTERN)]
    name: str
    prefix: str = Field(description="How the key itself begins.")
    scope: Scope = Field(description="What the key allows.")
    workspace_id: str | None = Field(description="The workspace that the key belongs to; null for an operator key.")
    agent_ids: list[str] | None = Field(description="The agents that the key is limited to; null: no limit.")
    expires_at: Timestamp | None = Field(description="When the key expires; null: never.")

    @classmethod
    def of(cls, context: WorkspaceContext | OperatorContext) -> CallerView:
        principal = context.principal
        return cls(
            kind="operator" if principal.kind == "operator" else "api_key",
            id=principal.id,
            name=principal.name,
            prefix=shown_prefix(principal.id),
            scope=principal.scope,
            workspace_id=context.workspace_id if isinstance(context, WorkspaceContext) else None,
            agent_ids=None if principal.agent_ids is None else sorted(principal.agent_ids),
            expires_at=principal.expires_at,
        )


@get(
    "/api/me",
    guards=[RequiresAnyKey()],
    opt=documented(
        OperationDoc(
            "getCaller",
            "API keys",
            "Get the key that the request is made with",
            "What the caller may do, and where.",
            SuccessResponse(200, "The caller's key.", TypeAdapter(CallerView), examples.CALLER),
        )
    ),
)
async def get_caller(caller: Injected[WorkspaceContext | OperatorContext]) -> Response[bytes]:
    return StoredResponse(OK, encode(CallerView.of(caller))).response()


ROUTES = [get_caller]
