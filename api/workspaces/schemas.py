"""Workspaces as callers send and see them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from api.http.models import Name, PatchModel, RequestModel, ResponseModel, Timestamp
from api.kit.ids import ALPHABET, RANDOM_LENGTH

WorkspaceId = Annotated[str, StringConstraints(pattern=rf"^ws_[{ALPHABET}]{{{RANDOM_LENGTH}}}$")]


class WorkspaceDraft(RequestModel):
    """A workspace to be made."""

    name: Name = Field(description="For people; any script.")


class WorkspaceChange(PatchModel):
    """Any subset of a workspace's fields. What is left out stays as it is."""

    name: Name = ""


class WorkspaceView(ResponseModel):
    """A workspace."""

    id: WorkspaceId
    name: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int


class NewWorkspaceView(WorkspaceView):
    """A workspace that was just made, with its first admin key: the only time that the key is shown."""

    api_key: str = Field(description="The key itself. It cannot be shown again.")
