"""API keys in requests and responses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from api.access.api_key import KEY_ID_PATTERN
from api.access.principal import Scope
from api.access.repository import ApiKeyRecord
from api.http.models import AtMost, Name, RequestModel, ResponseModel, Timestamp, pattern_with_message
from api.kit.crypto.secret import Secret
from api.kit.ids import id_pattern

MAX_AGENTS = 40
RFC3339 = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$"
AgentId = Annotated[
    str, pattern_with_message(id_pattern("agent"), "Must be an agent's id, which begins with `agent_`.")
]


Moment = Annotated[str, pattern_with_message(RFC3339, "Must be a time such as 2027-01-01T00:00:00Z.", max_length=40)]


class ApiKeyDraft(RequestModel):
    """An API key to create."""

    name: Name = Field(description="What the key is for.")
    scope: Literal["admin", "manage", "read", "invoke"] = Field(
        description="`admin`: everything in the workspace. `manage`: change servers, agents and connections. "
        "`read`: read them. `invoke`: list and call the tools of agents."
    )
    agent_ids: Annotated[list[AgentId], AtMost(MAX_AGENTS)] | None = Field(
        default=None,
        min_length=1,
        description="Only for `invoke`: the agents that the key is limited to. If omitted: all of the workspace.",
    )
    expires_at: Moment | None = Field(
        default=None,
        description="When the key expires (RFC 3339). If omitted: never.",
        json_schema_extra={"format": "date-time"},
    )

    @field_validator("expires_at")
    @classmethod
    def _to_utc(cls, text: str | None) -> str | None:
        return None if text is None else _utc(text)

    @field_validator("agent_ids")
    @classmethod
    def _limits_only_invoke_keys(cls, agent_ids: list[str] | None, others: ValidationInfo) -> list[str] | None:
        if agent_ids is not None and others.data.get("scope", "invoke") != "invoke":
            raise PydanticCustomError("agents", "Only a key with scope `invoke` can be limited to agents.")
        return agent_ids


def _utc(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise PydanticCustomError("time", "Must be an existing date and time.") from None
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"  # `%Y` writes the year 1 as `1`


class ApiKeyView(ResponseModel):
    """An API key without its secret."""

    id: Annotated[str, StringConstraints(pattern=KEY_ID_PATTERN)]
    name: str
    scope: Scope = Field(description="What the key allows.")
    agent_ids: list[str] | None = Field(description="The agents that the key is limited to; null: no limit.")
    expires_at: Timestamp | None = Field(description="Null: never.")
    last_used_at: Timestamp | None = Field(description="To the minute. Null: never, or the key expired 90 days ago.")
    created_at: Timestamp
    created_by: str = Field(description="The id of the key that created it, or `setup`.")
    version: int

    @classmethod
    def of(cls, record: ApiKeyRecord, last_used_at: str | None = None) -> ApiKeyView:
        return cls(
            id=record.id,
            name=record.name,
            scope=record.scope,
            agent_ids=None if record.agent_ids is None else list(record.agent_ids),
            expires_at=record.expires_at,
            last_used_at=last_used_at,
            created_at=record.created_at,
            created_by=record.created_by,
            version=record.version,
        )


class NewApiKeyView(ApiKeyView):
    """A new API key. The key itself is shown only in this response."""

    api_key: str = Field(description="The key itself. It cannot be shown again.")

    @classmethod
    def with_key(cls, record: ApiKeyRecord, key: Secret) -> NewApiKeyView:
        return cls(**ApiKeyView.of(record).model_dump(), api_key=key.reveal_text())
