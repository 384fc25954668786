"""Audit records as callers see them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from api.audit.repository import AuditRecord
from api.http.models import ResponseModel, Timestamp

_TEXT, _NUMBER = WithJsonSchema({"type": "string"}), WithJsonSchema({"type": "integer", "minimum": 0})


def _of_calls(description: str) -> Any:
    """Left out of the records of changes."""
    return Field(default=None, exclude_if=lambda value: value is None, description=f"Of a call: {description}")


class Named(ResponseModel):
    """A thing as it was called then."""

    type: str
    id: str
    name: str


class AuditView(ResponseModel):
    """Who did what, to which thing, in which request. A call of a tool is `tool.called`, and its target the server."""

    id: str
    at: Timestamp
    action: str = Field(description="As in `server.updated`: what kind of thing, and what was done.")
    target: Named
    actor: Named
    fields: list[str] = Field(description="The names of the fields that changed; never a value.")
    request_id: str
    agent_id: Annotated[str | None, _TEXT] = _of_calls("the agent whose tool it is.")
    tool: Annotated[str | None, _TEXT] = _of_calls(
        "the tool as the upstream names it; of the generic tool, the method."
    )
    outcome: Annotated[str | None, _TEXT] = _of_calls("`ok`, `tool_error` (the tool itself failed), or why it failed.")
    milliseconds: Annotated[int | None, _NUMBER] = _of_calls("how long it took.")

    @classmethod
    def of(cls, record: AuditRecord) -> AuditView:
        return cls(
            id=record.id,
            at=record.at,
            action=record.action,
            target=Named(type=record.target_type, id=record.target_id, name=record.target_name),
            actor=Named(type=record.actor_type, id=record.actor_id, name=record.actor_name),
            fields=list(record.fields),
            request_id=record.request_id,
            agent_id=record.agent_id,
            tool=record.tool,
            outcome=record.outcome,
            milliseconds=record.milliseconds,
        )
