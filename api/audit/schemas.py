"""Audit records in responses."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from api.audit.events import Action, Outcome
from api.audit.repository import AuditRecord
from api.http.models import ResponseModel, Timestamp

_TEXT, _NUMBER = WithJsonSchema({"type": "string"}), WithJsonSchema({"type": "integer", "minimum": 0})

# Records of a later version may have others.
_ACTION = WithJsonSchema({"type": "string", "enum": [action.value for action in Action]})
_OUTCOME = WithJsonSchema({"type": "string", "enum": [outcome.value for outcome in Outcome]})


def _of_calls(description: str) -> Any:
    """Omitted from records of changes."""
    return Field(
        default=None, exclude_if=lambda value: value is None, description=f"Only for tool calls: {description}"
    )


class Named(ResponseModel):
    """An object with the name that it had at that time."""

    type: str = Field(description="The kind of object, such as `server` or `api_key`.")
    id: str
    name: str


class AuditView(ResponseModel):
    """Who did what to which object, in which request. A tool call is `tool.called`, and its target is the server."""

    id: str
    at: Timestamp = Field(description="When it happened.")
    action: Annotated[str, _ACTION] = Field(
        description="The type of the object and what was done, such as `server.updated`."
    )
    target: Named = Field(description="What was changed or called.")
    actor: Named = Field(description="Who did it: a key, or Plugboard itself.")
    fields: list[str] = Field(description="The names of the changed fields, never their values.")
    request_id: str = Field(description="The request, as in its `X-Request-Id`.")
    client_address: Annotated[str | None, _TEXT] = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The address from which the request came. Absent for commands, and in records of version 0.1.0.",
    )
    agent_id: Annotated[str | None, _TEXT] = _of_calls("the agent that offers the tool.")
    tool: Annotated[str | None, _TEXT] = _of_calls("the tool's upstream name; for the generic tool, the method.")
    outcome: Annotated[str | None, _OUTCOME] = _of_calls(
        "`ok`, `tool_error` (the tool reported an error), the kind of failure, `not_found`, `not_allowed` (outside of "
        "the agent's rule), `disabled` (the server), or `abandoned` (the caller left)."
    )
    milliseconds: Annotated[int | None, _NUMBER] = _of_calls("the duration.")
    cause: Annotated[str | None, _TEXT] = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Only for changes that Plugboard made of itself: why, such as the error of an authorization "
        "server. Their `requestId` begins with `system-`.",
    )

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
            client_address=record.client_address,
            agent_id=record.agent_id,
            tool=record.tool,
            outcome=record.outcome,
            milliseconds=record.milliseconds,
            cause=record.cause,
        )
