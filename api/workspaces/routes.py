"""`/api/workspaces`: the requests about workspaces."""

from __future__ import annotations

from litestar import Response
from litestar.params import JSONBody
from pydantic import TypeAdapter

from api.access.context import OperatorContext
from api.access.guards import RequiresOperator, RequiresScope
from api.access.idempotency.creates import IdempotencyChanges, IdempotentCreate
from api.access.principal import Scope
from api.errors import ValidationFailed
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
from api.http.pagination import PAGING, Paging
from api.http.responses import StoredResponse, created, item
from api.workspaces.repository import Workspace
from api.workspaces.schemas import NewWorkspaceView, WorkspaceChange, WorkspaceDraft, WorkspaceView
from api.workspaces.service import CreatedWorkspace, Workspaces, WorkspaceService

WORKSPACES = "/api/workspaces"
WORKSPACE = f"{WORKSPACES}/{{workspace_id:str}}"
TAG = "Workspaces"
MANY = TypeAdapter(list[WorkspaceView])


def view(workspace: Workspace) -> WorkspaceView:
    return WorkspaceView(
        id=workspace.id,
        name=workspace.name,
        created_at=workspace.created_at,
        updated_at=workspace.updated_at,
        version=workspace.version,
    )


@get(
    WORKSPACES,
    guards=[RequiresOperator()],
    opt=documented(
        OperationDoc(
            "listWorkspaces",
            TAG,
            "List all workspaces",
            "For operators, who see that they exist and nothing that is in them.",
            SuccessResponse.many(MANY, examples.WORKSPACE),
            parameters=PAGING,
        )
    ),
)
async def list_workspaces(workspaces: Injected[Workspaces], paging: Injected[Paging]) -> Response[bytes]:
    found = await workspaces.page(paging.one_more, paging.after)
    return paging.answer(found, view, MANY, lambda workspace: workspace.id).response()


@post(
    WORKSPACES,
    guards=[RequiresOperator()],
    opt=documented(
        OperationDoc(
            "createWorkspace",
            TAG,
            "Make a workspace",
            "With a data key of its own and a first admin key, which is in this answer and never again.",
            SuccessResponse.created(NewWorkspaceView, {**examples.WORKSPACE, "apiKey": examples.API_KEY}),
            {"name": "Acme"},
            [IDEMPOTENCY_KEY],
            [ValidationFailed],
        )
    ),
)
async def create_workspace(
    data: JSONBody[WorkspaceDraft],
    operator: Injected[OperatorContext],
    workspaces: Injected[Workspaces],
    idempotent_create: Injected[IdempotentCreate],
) -> Response[bytes]:

    def answer(founded: CreatedWorkspace) -> StoredResponse:
        made = founded.workspace
        body = NewWorkspaceView(**view(made).model_dump(), api_key=founded.key.reveal_text())
        return created(body, made.version, f"{idempotent_create.path}/{made.id}")

    async def work(receipt: IdempotencyChanges) -> StoredResponse:
        return answer(await workspaces.create(operator, data.name, lambda founded: receipt(answer(founded))))

    return (await idempotent_create.run(work)).response()


@get(
    WORKSPACE,
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "getWorkspace",
            TAG,
            "Read the workspace",
            "Its name.",
            SuccessResponse.item(WorkspaceView, examples.WORKSPACE),
        )
    ),
)
async def get_workspace(workspace: Injected[WorkspaceService]) -> Response[bytes]:
    found = await workspace.get()
    return item(view(found), found.version).response()


@put(
    WORKSPACE,
    guards=[RequiresScope(Scope.ADMIN)],
    opt=documented(
        OperationDoc(
            "updateWorkspace",
            TAG,
            "Change the workspace",
            "Takes any subset of the fields.",
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
    return item(view(changed), changed.version).response()


@delete(
    WORKSPACE,
    status_code=204,
    guards=[RequiresScope(Scope.ADMIN, operator_too=True)],
    opt=documented(
        OperationDoc(
            "deleteWorkspace",
            TAG,
            "Delete the workspace",
            "With all that is in it. Its data keys are destroyed in the same write, so that backups of its "
            "credentials cannot be read either.",
            SuccessResponse.no_content(),
            parameters=[IF_MATCH],
        )
    ),
)
async def delete_workspace(workspace: Injected[WorkspaceService], if_match: IfMatch = None) -> None:
    await workspace.delete(if_match)


ROUTES = [list_workspaces, create_workspace, get_workspace, update_workspace, delete_workspace]
