"""`/api/workspaces`: the requests about workspaces."""

from __future__ import annotations

from litestar import Response
from pydantic import TypeAdapter

from api.access.context import OperatorContext, Scope
from api.access.guards import Needs, NeedsOperator
from api.access.idempotency.creates import Once, Receipt
from api.errors import Invalid
from api.http.dependencies import AnyRequest, provided
from api.http.openapi import examples
from api.http.operations import IDEMPOTENCY_KEY, IF_MATCH, Doc, Reply, delete, documented, get, post, put
from api.http.pagination import PAGING, Paging
from api.http.request_body import read_body
from api.http.responses import Answer, created, one
from api.workspaces.repository import Workspace
from api.workspaces.schemas import NewWorkspaceView, WorkspaceChange, WorkspaceDraft, WorkspaceView
from api.workspaces.service import Founded, Workspaces, WorkspaceService

WORKSPACES = "/api/workspaces"
WORKSPACE = f"{WORKSPACES}/{{workspace_id:str}}"
TAG = "Workspaces"
MANY = TypeAdapter(list[WorkspaceView])


def view(workspace: Workspace) -> WorkspaceView:
    return WorkspaceView(**workspace.data(), version=workspace.version)


@get(
    WORKSPACES,
    guards=[NeedsOperator()],
    opt=documented(
        Doc(
            "listWorkspaces",
            TAG,
            "List all workspaces",
            "For operators, who see that they exist and nothing that is in them.",
            Reply.many(MANY, examples.WORKSPACE),
            parameters=PAGING,
        )
    ),
)
async def list_workspaces(request: AnyRequest) -> Response[bytes]:
    workspaces = provided(request, Workspaces)
    paging = provided(request, Paging)
    found = await workspaces.page(paging.one_more, paging.after)
    return paging.answer(found, view, MANY, lambda workspace: workspace.id).response()


@post(
    WORKSPACES,
    guards=[NeedsOperator()],
    opt=documented(
        Doc(
            "createWorkspace",
            TAG,
            "Make a workspace",
            "With a data key of its own and a first admin key, which is in this answer and never again.",
            Reply.made(NewWorkspaceView, {**examples.WORKSPACE, "apiKey": examples.API_KEY}),
            WorkspaceDraft,
            {"name": "Acme"},
            [IDEMPOTENCY_KEY],
            [Invalid],
        )
    ),
)
async def create_workspace(request: AnyRequest) -> Response[bytes]:
    draft = await read_body(request, WorkspaceDraft)
    workspaces = provided(request, Workspaces)
    once = provided(request, Once)
    context: OperatorContext = request.state.context

    def answer(founded: Founded) -> Answer:
        made = founded.workspace
        body = NewWorkspaceView(**view(made).model_dump(), api_key=founded.key.reveal_text())
        return created(body, made.version, f"{once.path}/{made.id}")

    async def work(receipt: Receipt) -> Answer:
        return answer(await workspaces.found(context, draft.name, lambda founded: receipt(answer(founded))))

    return (await once.run(work)).response()


@get(
    WORKSPACE,
    guards=[Needs(Scope.READ)],
    opt=documented(
        Doc("getWorkspace", TAG, "Read the workspace", "Its name.", Reply.one(WorkspaceView, examples.WORKSPACE))
    ),
)
async def get_workspace(request: AnyRequest) -> Response[bytes]:
    workspace = provided(request, WorkspaceService)
    found = await workspace.get()
    return one(view(found), found.version).response()


@put(
    WORKSPACE,
    guards=[Needs(Scope.ADMIN)],
    opt=documented(
        Doc(
            "updateWorkspace",
            TAG,
            "Change the workspace",
            "Takes any subset of the fields.",
            Reply.one(WorkspaceView, examples.WORKSPACE),
            WorkspaceChange,
            {"name": "Acme Corp"},
            [IF_MATCH],
            [Invalid],
        )
    ),
)
async def update_workspace(request: AnyRequest) -> Response[bytes]:
    change = await read_body(request, WorkspaceChange)
    workspace = provided(request, WorkspaceService)
    changed = await workspace.update(change, request.headers.get("if-match"))
    return one(view(changed), changed.version).response()


@delete(
    WORKSPACE,
    status_code=204,
    guards=[Needs(Scope.ADMIN, operator_too=True)],
    opt=documented(
        Doc(
            "deleteWorkspace",
            TAG,
            "Delete the workspace",
            "With all that is in it. Its data keys are destroyed in the same write, so that backups of its "
            "credentials cannot be read either.",
            Reply.gone(),
            parameters=[IF_MATCH],
        )
    ),
)
async def delete_workspace(request: AnyRequest) -> None:
    workspace = provided(request, WorkspaceService)
    await workspace.delete(request.headers.get("if-match"))


ROUTES = [list_workspaces, create_workspace, get_workspace, update_workspace, delete_workspace]
