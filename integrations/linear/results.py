"""Teams, projects and issues in a result: their main fields, and the same as a few lines of text."""

from __future__ import annotations

from math import isfinite
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from integrations.json_object import Json
from integrations.linear.rendering import day, entry, join_facts, json_line
from integrations.text import one_line, shorten

NO_PRIORITY = (None, "No priority")
LONGEST_TITLE, LONGEST_DESCRIPTION = 255, 500
FULL = Field(default=None, description="Linear's own object, without empty fields and with long texts cut.")


class LinearModel(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class ListItem(LinearModel):
    """An entry of a list."""

    def text(self) -> str:
        raise NotImplementedError


def nodes(value: object) -> object:
    """The nodes of a connection; empty if Linear left it out."""
    return value.get("nodes", []) if isinstance(value, dict) else value or []


def names(value: object) -> object:
    items = nodes(value)
    return [line_of(name_of(item)) for item in items] if isinstance(items, list) else []


def name_of(value: object) -> object:
    return line_of(value.get("name") if isinstance(value, dict) else value)


def short_description(value: object) -> object:
    """A description as one line, cut to its length in a list."""
    line = one_line(value) if isinstance(value, str) else ""
    if len(line) <= LONGEST_DESCRIPTION:
        return line or (None if isinstance(value, str) else value)
    return f"{line[:LONGEST_DESCRIPTION].rstrip()}… ({len(line) - LONGEST_DESCRIPTION:,} more characters under `full`)"


def line_of(value: object) -> object:
    """Keep a text from others within one line, so that it cannot imitate a line of ours."""
    return shorten(one_line(value), LONGEST_TITLE) if isinstance(value, str) else value


def finite(value: object) -> object:
    """The number; None for NaN and infinities, which JSON cannot represent."""
    try:
        return value if value is None or isfinite(float(str(value))) else None
    except ValueError:
        return value


def identifier_of(value: object) -> object:
    return line_of(value.get("identifier") if isinstance(value, dict) else value)


ShortDescription = Annotated[str | None, BeforeValidator(short_description)]
NameList = Annotated[list[str], BeforeValidator(names)]
Name = Annotated[str | None, BeforeValidator(name_of)]
OneLine = Annotated[str, BeforeValidator(line_of)]
Url = Annotated[str, AfterValidator(one_line)]
Number = Annotated[float | None, BeforeValidator(finite)]
HEALTHS = {"onTrack": "on track", "atRisk": "at risk", "offTrack": "off track"}


class Ref(LinearModel):
    id: str
    name: OneLine


class TeamRef(LinearModel):
    id: str
    key: OneLine
    name: OneLine


class WorkflowState(LinearModel):
    name: OneLine
    type: OneLine = Field(description="triage, backlog, unstarted, started, completed, canceled or duplicate.")

    def text(self) -> str:
        return self.name if self.name.casefold() == self.type else f"{self.name} ({self.type})"


class Cycle(LinearModel):
    number: int
    name: Name = None
    starts_at: str | None = None
    ends_at: str | None = None

    def text(self) -> str:
        return f"cycle {self.number}" + (f" ({self.name})" if self.name else "")


class Team(ListItem):
    id: str
    key: OneLine = Field(description="The prefix of its issues' identifiers; filters accept it.")
    name: OneLine
    url: Url | None = None
    description: ShortDescription = None
    visibility: Name = None
    parent: Name = Field(default=None, description="The name of the parent team.")
    active_cycle: Cycle | None = None
    states: Annotated[list[WorkflowState], BeforeValidator(nodes)] = Field(
        default=[], description="The states that an issue of this team can have."
    )
    full: Json | None = FULL

    def text(self) -> str:
        states = ", ".join(state.text() for state in self.states)
        facts = join_facts(
            self.visibility if self.visibility != "public" else None,
            f"part of {self.parent}" if self.parent else None,
            f"{self.active_cycle.text()} until {day(self.active_cycle.ends_at)}" if self.active_cycle else None,
        )
        lines = (f"{self.key}: {self.name}", facts, self.description, f"States: {states}" if states else None)
        return entry(*lines, f"id {self.id}", self.url, json_line(self.full))


class Project(ListItem):
    id: str
    name: OneLine
    url: Url
    status: WorkflowState | None = None
    description: ShortDescription = None
    health: str | None = Field(
        default=None, description="onTrack, atRisk or offTrack, according to the last project update."
    )
    progress: Number = Field(default=None, description="Between 0 and 1.")
    priority: Name = Field(default=None, validation_alias="priorityLabel")
    lead: Ref | None = None
    teams: Annotated[list[TeamRef], BeforeValidator(nodes)] = []
    start_date: Name = None
    target_date: Name = None
    updated_at: str | None = None
    full: Json | None = FULL

    def text(self) -> str:
        facts = join_facts(
            self.status.text() if self.status else None,
            HEALTHS.get(self.health, one_line(self.health)) if self.health else None,
            f"priority {self.priority}" if self.priority not in NO_PRIORITY else None,
            f"{self.progress:.0%} done" if self.progress is not None else None,
            f"lead {self.lead.name}" if self.lead else "no lead",
            f"teams {', '.join(team.key for team in self.teams)}" if self.teams else None,
            f"from {self.start_date}" if self.start_date else None,
            f"target {self.target_date}" if self.target_date else None,
        )
        return entry(self.name, facts, self.description, f"id {self.id}", self.url, json_line(self.full))


class ShortIssue(ListItem):
    id: str
    identifier: OneLine = Field(description="Such as ENG-123; linear_get_issue accepts it.")
    title: OneLine
    url: Url
    state: WorkflowState | None = None

    def text(self) -> str:
        state = f" [{self.state.text()}]" if self.state else ""
        return f"{self.identifier} {self.title}{state}"


class Issue(ShortIssue):
    priority: Name = Field(default=None, validation_alias="priorityLabel")
    team: TeamRef | None = None
    assignee: Ref | None = None
    project: Ref | None = None
    parent: Annotated[str | None, BeforeValidator(identifier_of)] = Field(
        default=None, description="The identifier of the parent issue."
    )
    cycle: Cycle | None = None
    labels: NameList = []
    estimate: Number = None
    due_date: Name = None
    created_at: str | None = None
    updated_at: str | None = None
    archived_at: str | None = None
    full: Json | None = FULL

    def facts(self, *, with_creation: bool) -> str:
        return join_facts(
            f"assignee {self.assignee.name}" if self.assignee else "no assignee",
            f"priority {self.priority}" if self.priority not in NO_PRIORITY else None,
            f"project {self.project.name}" if self.project else None,
            self.cycle.text() if self.cycle else None,
            f"part of {self.parent}" if self.parent else None,
            f"labels {', '.join(self.labels)}" if self.labels else None,
            f"due {self.due_date}" if self.due_date else None,
            f"created {day(self.created_at)}" if self.created_at and with_creation else None,
            f"updated {day(self.updated_at)}" if self.updated_at else None,
            "archived" if self.archived_at else None,
        )

    def text(self) -> str:
        return entry(super().text(), self.facts(with_creation=True), self.url, json_line(self.full))


class Hit(Issue):
    excerpt: str | None = Field(default=None, description="The part of the description around the first search word.")

    def text(self) -> str:
        title = ShortIssue.text(self)
        facts = self.facts(with_creation=True)
        return entry(title, facts, f"“{self.excerpt}”" if self.excerpt else None, self.url, json_line(self.full))
