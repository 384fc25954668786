"""Workspaces in requests and responses."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from api.http.models import Name, PatchModel, RequestModel, ResponseModel, Timestamp
from api.kit.ids import ALPHABET, RANDOM_LENGTH
from api.workspaces.repository import Workspace

WorkspaceId = Annotated[str, StringConstraints(pattern=rf"^ws_[{ALPHABET}]{{{RANDOM_LENGTH}}}$")]


class WorkspaceDraft(RequestModel):
    """A workspace to create."""

    name: Name = Field(description="A display name, in any script.")


class WorkspaceChange(PatchModel):
    """Any subset of a workspace's fields. Omitted fields keep their values."""

    name: Name = ""

    @classmethod
    def view(cls) -> type[ResponseModel]:
        return WorkspaceView


class WorkspaceView(ResponseModel):
    """A workspace."""

    id: WorkspaceId
    name: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int

    @classmethod
    def of(cls, workspace: Workspace) -> WorkspaceView:
        return WorkspaceView.model_validate(workspace, from_attributes=True)


class NewWorkspaceView(WorkspaceView):
    """A new workspace with its first admin key. The key is shown only in this response."""

    api_key: str = Field(description="The key itself. It cannot be shown again.")
