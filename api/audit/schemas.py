"""Audit records as callers see them."""

from __future__ import annotations

from pydantic import Field

from api.audit.repository import Record
from api.http.models import Timestamp, View


class Named(View):
    """A thing as it was called then."""

    type: str
    id: str
    name: str


class AuditView(View):
    """Who did what, to which thing, in which request."""

    id: str
    at: Timestamp
    action: str = Field(description="As in `server.updated`: what kind of thing, and what was done.")
    target: Named
    actor: Named
    fields: list[str] = Field(description="The names of the fields that changed; never a value.")
    request_id: str

    @classmethod
    def of(cls, record: Record) -> AuditView:
        return cls(
            id=record.id,
            at=record.at,
            action=record.action,
            target=Named(type=record.target_type, id=record.target_id, name=record.target_name),
            actor=Named(type=record.actor_type, id=record.actor_id, name=record.actor_name),
            fields=list(record.fields),
            request_id=record.request_id,
        )
