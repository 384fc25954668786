"""The filters of the audit trail."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from api.audit.events import Outcome
from api.audit.repository import AuditRecord, RecordKind
from api.errors import ValidationFailed
from api.http.operations import Parameter
from api.http.query import (
    choice_parameter,
    id_parameter,
    query_choice,
    query_id,
    query_text,
    query_time,
    text_parameter,
)
from api.http.request import AnyRequest
from api.kit.clock import rfc3339

TIME = {"type": "string", "format": "date-time"}
FILTERS = (
    choice_parameter(
        "kind", "`config`: only configuration changes. `calls`: only tool calls.", [kind.value for kind in RecordKind]
    ),
    text_parameter("actor", "Only records of this actor, by its id, such as a key's."),
    id_parameter("agent", "Only records of calls for the agent with this id, and of its changes.", "agent"),
    id_parameter("server", "Only records of calls to the server with this id, and of its changes.", "server"),
    text_parameter(
        "tool",
        "Only calls of this tool, by its upstream name. Of an agent's name for it, `mcp_<slug>_<tool>`, only the part "
        "after the slug is compared.",
    ),
    choice_parameter("outcome", "Only calls with this outcome.", Outcome),
    Parameter("since", "Only records of this time or later (RFC 3339).", TIME),
    Parameter("until", "Only records before this time (RFC 3339).", TIME),
)

_AGENTS_NAME = re.compile(r"mcp_[a-z0-9-]+_(.+)")


@dataclass(frozen=True, slots=True)
class AuditFilter:
    kinds: Sequence[RecordKind]
    texts: Mapping[str, str]
    """By parameter, those that are given."""

    since: float | None
    until: float | None

    @classmethod
    def of(cls, request: AnyRequest) -> AuditFilter:
        kind = query_choice(request, "kind", [kind.value for kind in RecordKind])
        given = {
            "actor": query_text(request, "actor"),
            "agent": query_id(request, "agent", "agent"),
            "server": query_id(request, "server", "server"),
            "tool": query_text(request, "tool"),
            "outcome": query_choice(request, "outcome", list(Outcome)),
        }
        since, until = query_time(request, "since"), query_time(request, "until")
        if since is not None and until is not None and since > until:
            raise ValidationFailed.at("until", "Must not be before `since`.")
        texts = {name: text for name, text in given.items() if text is not None}
        kinds = [RecordKind(kind)] if kind else list(RecordKind)
        return cls(kinds, texts, since, until)

    @property
    def predicate(self) -> Callable[[AuditRecord], bool] | None:
        """None if the kind is all that is asked for."""
        return self._keeps if self.texts or self.since is not None or self.until is not None else None

    def _keeps(self, record: AuditRecord) -> bool:
        in_time = (self.since is None or record.at >= rfc3339(self.since)) and (
            self.until is None or record.at < rfc3339(self.until)
        )
        return in_time and all(
            text in _values(record, name)
            or (name == "tool" and record.tool is not None and _own_name(text) == record.tool)
            for name, text in self.texts.items()
        )


def _own_name(tool: str) -> str | None:
    """Of a tool that is named as agents see it."""
    match = _AGENTS_NAME.fullmatch(tool)
    return match and match[1]


def _values(record: AuditRecord, name: str) -> tuple[str | None, ...]:
    """The values of a record that a parameter is compared with."""
    target = record.target_id if record.target_type == name else None
    match name:
        case "actor":
            return (record.actor_id,)
        case "agent":
            return target, record.agent_id
        case "server":
            return (target,)
        case "tool":
            return (record.tool,)
        case _:
            return (record.outcome,)
