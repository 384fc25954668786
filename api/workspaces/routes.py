"""`/api/workspaces`: the routes of workspaces."""

from __future__ import annotations

from litestar import Response
from litestar.params import JSONBody
from pydantic import TypeAdapter

from api.access.context import OperatorContext
from api.access.guards import RequiresOperator, RequiresScope
from api.access.idempotency.creates import IdempotencyChanges, IdempotentCreate
from api.access.principal import Scope
from api.errors import TooManyRecords, ValidationFailed
from api.http.dependencies import IfMatch, Injected
from api.http.openapi import examples
from api.http.operations import (
    IDEMPOTENCY_KEY,
    IF_MATCH,
    OperationDoc,
    SuccessResponse,
    delete,
    documented,
    get,
    post,
    put,
)
from api.http.pagination import PAGES, PAGING, Paging
from api.http.query import query_text, text_parameter
from api.http.request import AnyRequest
from api.http.responses import StoredResponse, created, item
from api.http.selection import select
from api.workspaces.schemas import NewWorkspaceView, WorkspaceChange, WorkspaceDraft, WorkspaceView
from api.workspaces.service import CreatedWorkspace, Workspaces, WorkspaceService

WORKSPACES = "/api/workspaces"
WORKSPACE = f"{WORKSPACES}/{{workspace_id:str}}"
TAG = "Workspaces"
MANY = TypeAdapter(list[WorkspaceView])
SEARCH = text_parameter("q", "Only workspaces with this text in their name, in any case.")


@get(
    WORKSPACES,
    guards=[RequiresOperator()],
    opt=documented(
        OperationDoc(
            "listWorkspaces",
            TAG,
            "List workspaces",
            f"For operators, who see the workspaces but nothing in them. In order of creation. {PAGES}",
            SuccessResponse.many(MANY, examples.WORKSPACE),
            parameters=[*PAGING, SEARCH],
        )
    ),
)
async def list_workspaces(
    request: AnyRequest, workspaces: Injected[Workspaces], paging: Injected[Paging]
) -> Response[bytes]:
    text = query_text(request, SEARCH.name)
    keeps = None if text is None else (lambda workspace: text.casefold() in workspace.name.casefold())
    listing = workspaces.listing(paging.after)
    page = await select(paging, listing.page, listing.position, keeps)
    return paging.answer([WorkspaceView.of(workspace) for workspace in page.items], MANY, page.last).response()


@post(
    WORKSPACES,
    guards=[RequiresOperator()],
    opt=documented(
        OperationDoc(
            "createWorkspace",
            TAG,
            "Create a workspace",
            "With its own data key and a first admin key. The admin key is shown only in this response.",
            SuccessResponse.created(NewWorkspaceView, {**examples.WORKSPACE, "apiKey": examples.API_KEY}),
            {"name": "Acme"},
            [IDEMPOTENCY_KEY],
            [TooManyRecords, ValidationFailed],
        )
    ),
)
async def create_workspace(
    data: JSONBody[WorkspaceDraft],
    operator: Injected[OperatorContext],
    workspaces: Injected[Workspaces],
    idempotent_create: Injected[IdempotentCreate],
) -> Response[bytes]:

    def answer(new: CreatedWorkspace) -> StoredResponse:
        body = NewWorkspaceView(**WorkspaceView.of(new.workspace).model_dump(), api_key=new.key.reveal_text())
        return created(body, new.workspace.version, f"{idempotent_create.path}/{new.workspace.id}")

    async def work(receipt: IdempotencyChanges) -> StoredResponse:
        return answer(await workspaces.create(operator, data.name, lambda new: receipt(answer(new))))

    return (await idempotent_create.run(work)).response()


@get(
    WORKSPACE,
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "getWorkspace",
            TAG,
            "Get the workspace",
            "Its name, and when it was created and changed.",
            SuccessResponse.item(WorkspaceView, examples.WORKSPACE),
        )
    ),
)
async def get_workspace(workspace: Injected[WorkspaceService]) -> Response[bytes]:
    record = await workspace.get()
    return item(WorkspaceView.of(record), record.version).response()


@put(
    WORKSPACE,
    guards=[RequiresScope(Scope.ADMIN)],
    opt=documented(
        OperationDoc(
            "updateWorkspace",
            TAG,
            "Update the workspace",
            "Accepts any subset of the fields. Read-only fields may be sent back as they were read.",
            SuccessResponse.item(WorkspaceView, examples.WORKSPACE),
            {"name": "Acme Corp"},
            [IF_MATCH],
            [ValidationFailed],
        )
    ),
)
async def update_workspace(
    data: JSONBody[WorkspaceChange], workspace: Injected[WorkspaceService], if_match: IfMatch = None
) -> Response[bytes]:
    changed = await workspace.update(data, if_match)
    return item(WorkspaceView.of(changed), changed.version).response()


@delete(
    WORKSPACE,
    status_code=204,
    guards=[RequiresScope(Scope.ADMIN, operator_too=True)],
    opt=documented(
        OperationDoc(
            "deleteWorkspace",
            TAG,
            "Delete the workspace",
            "With everything in it. Its data keys are destroyed in the same write, so that its credentials cannot be "
            "read from backups either.",
            SuccessResponse.no_content(),
            parameters=[IF_MATCH],
        )
    ),
)
async def delete_workspace(workspace: Injected[WorkspaceService], if_match: IfMatch = None) -> None:
    await workspace.delete(if_match)


ROUTES = [list_workspaces, create_workspace, get_workspace, update_workspace, delete_workspace]
