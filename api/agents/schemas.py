"""Agents in requests and responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from api.agents.agent import Agent
from api.http.models import (
    AtMost,
    Name,
    PatchModel,
    Prose,
    RequestModel,
    ResponseModel,
    Timestamp,
    pattern_with_message,
)
from api.kit.ids import id_pattern

MAX_SERVERS = 40
MAX_TOOL_NAMES = 500

AgentId = Annotated[str, StringConstraints(pattern=id_pattern("agent"))]
Description = Annotated[
    Prose, StringConstraints(max_length=500), Field(description="For people: what the agent is for.")
]
Instructions = Annotated[
    Prose,
    StringConstraints(max_length=32_000),
    Field(description="For the model: how the agent should act. Stored and shown as it is."),
]
# Ids are looked up, not parsed: a malformed id gets the same error as an unknown one.
ServerId = Annotated[
    str,
    pattern_with_message(
        r"^[a-z0-9_]+$", "Must be a server's id, which begins with `server_`.", min_length=1, max_length=40
    ),
]
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]


def _require_unique(values: list[str]) -> list[str]:
    if len(set(values)) != len(values):
        raise PydanticCustomError("doubles", "Entries must be unique.")
    return values


ServerIds = Annotated[
    list[ServerId],
    AtMost(MAX_SERVERS),
    AfterValidator(_require_unique),
    Field(
        description="The servers whose tools the agent gets, in this order.",
        json_schema_extra={"uniqueItems": True},
    ),
]
ToolNames = Annotated[
    list[ToolName],
    Field(fail_fast=True),  # one error for each list: all lists together may hold many names
    AtMost(MAX_TOOL_NAMES),
    AfterValidator(_require_unique),
    Field(json_schema_extra={"uniqueItems": True}),
]
_RULES = (
    "By server id, the tools that the agent gets, by their upstream names; an empty list: none. The names that agents "
    "use are understood, and stored as upstream names. "
    "A server without an entry: all its tools."
)
ToolRules = Annotated[dict[ServerId, ToolNames], AtMost(MAX_SERVERS), Field(description=_RULES)]
ToolRuleChanges = Annotated[
    dict[ServerId, ToolNames | None],
    AtMost(MAX_SERVERS),
    Field(description=f"{_RULES} `PUT` replaces all entries, `PATCH` those that it names; null deletes an entry."),
]


class AgentDraft(RequestModel):
    """An agent to store."""

    name: Name
    description: Description = ""
    instructions: Instructions = ""
    enabled_mcp_server_ids: ServerIds = Field(default_factory=list)
    enabled_mcp_server_tool_names: ToolRules = Field(default_factory=dict)


class AgentChange(PatchModel):
    """Any subset of an agent's fields. Omitted fields keep their values."""

    name: Name = ""
    description: Description = ""
    instructions: Instructions = ""
    enabled_mcp_server_ids: ServerIds = Field(default_factory=list)
    enabled_mcp_server_tool_names: ToolRuleChanges = Field(default_factory=dict)

    @classmethod
    def view(cls) -> type[ResponseModel]:
        return AgentView


class AgentView(ResponseModel):
    """An agent."""

    computed = frozenset({"warnings"})
    id: AgentId
    name: str
    description: str = Field(description="For people: what the agent is for.")
    instructions: str = Field(description="For the model: how the agent should act.")
    enabled_mcp_server_ids: list[str] = Field(description="The servers whose tools the agent gets, in this order.")
    enabled_mcp_server_tool_names: dict[str, list[str]] = Field(
        description="By server id, the tools that the agent gets; a server without an entry: all its tools."
    )
    warnings: list[str] = Field(
        default_factory=list,
        exclude_if=lambda warnings: not warnings,
        description="Names in the tool rules that their servers do not list, with the nearest names; not in lists of "
        "agents. A server whose list is not known causes none.",
    )
    created_at: Timestamp
    updated_at: Timestamp
    version: int

    @classmethod
    def of(cls, agent: Agent, warnings: Sequence[str] = ()) -> AgentView:
        view = cls.model_validate(agent, from_attributes=True)
        return view.model_copy(update={"warnings": list(warnings)}) if warnings else view
