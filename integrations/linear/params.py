"""The parameters of the tools, and the GraphQL variables that they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from integrations.json_object import Json
from integrations.linear import filters
from integrations.linear.parsing import Cursor, IssueWord, Priority, Several, Since, Word, issue_word, order
from integrations.paging import paging_aliases
from integrations.tool import Params

MOST, USUAL, MOST_FULL = 100, 50, 10
MOST_OF_LINEAR = 250
MOST_COMMENTS, USUAL_COMMENTS = 50, 10
PAGING = paging_aliases(cursor="after", size="first")
OF_ISSUES: Mapping[str, str] = {
    **PAGING,
    **dict.fromkeys(("team", "teams", "teamids", "teamkey", "teamname"), "team_id"),
    **dict.fromkeys(("project", "projectname", "projectslug"), "project_id"),
    **dict.fromkeys(("assignee", "assigneename", "assigneeemail", "assignedto", "user", "userid"), "assignee_id"),
    **dict.fromkeys(("status", "statuses", "states", "statename", "statetype", "stateid", "workflowstate"), "state"),
    **dict.fromkeys(("labels", "labelid", "labelids", "labelname"), "label"),
    **dict.fromkeys(("cycleid", "sprint", "cyclenumber"), "cycle"),
    **dict.fromkeys(("parent", "parentissue", "parentissueid"), "parent_id"),
    **dict.fromkeys(("updatedat", "updatedafter"), "updated_since"),
    **dict.fromkeys(("createdat", "createdafter"), "created_since"),
    **dict.fromkeys(("archived",), "include_archived"),
    **dict.fromkeys(("order", "sort", "sortby"), "order_by"),
}
OF_A_SEARCH = ("query", "q", "search", "term", "text", "keywords")
FULL = "Also return Linear's own objects under `full`, with many more fields; then at most 10 per page."
AFTER = "`nextCursor` of the previous page, for the next one."
TEAM = "A team's key, name, id or URL."
PROJECT = "A project's name, id or URL."


# With two base classes pydantic puts the fields of the second first, so filters come before paging in a schema.
class Paged(Params):
    aliases: ClassVar[Mapping[str, str]] = PAGING
    first: int = Field(
        default=USUAL,
        ge=1,
        le=MOST_OF_LINEAR,
        description="Maximum number of items; a page has at most 100, so a larger value gives pages of 100.",
    )
    after: Cursor = Field(description=AFTER)
    full: bool = Field(default=False, description=FULL)

    def page(self) -> Json:
        return {"first": min(self.first, MOST_FULL if self.full else MOST), "after": self.after}


class TeamFilters(Params):
    query: Word = Field(description="Only teams whose name or key contains this.", examples=["eng"])


class ListTeams(Paged, TeamFilters):
    aliases: ClassVar[Mapping[str, str]] = {
        **PAGING,
        **dict.fromkeys(("name", "key", "search", "team", "teamid"), "query"),
    }

    def variables(self) -> Json:
        conditions: list[Json] = [{name: {"containsIgnoreCase": self.query}} for name in ("name", "key")]
        return {**self.page(), "filter": {"or": conditions} if self.query else None}


class ProjectFilters(Params):
    query: Word = Field(
        description="Only projects whose name contains this; or one project's id or URL.", examples=["checkout"]
    )
    team_id: Word = Field(description=TEAM, examples=["ENG"])
    state: Several = Field(
        description="`open`, `closed`, a type (backlog, planned, started, paused, completed, canceled) or the name of "
        "a status.",
        examples=["open", "started"],
    )
    include_archived: bool = Field(default=False, description="Include archived projects.")


class ListProjects(Paged, ProjectFilters):
    aliases: ClassVar[Mapping[str, str]] = {
        **PAGING,
        **dict.fromkeys(("name", "search", "project", "projectid"), "query"),
        **dict.fromkeys(("team", "teamkey", "teamname"), "team_id"),
        **dict.fromkeys(("status", "statetype", "statename"), "state"),
        "archived": "include_archived",
    }

    def variables(self) -> Json:
        conditions = [
            project_like(self.query) if self.query else None,
            {"accessibleTeams": {"some": filters.team(self.team_id)}} if self.team_id else None,
            {"status": filters.any_of(self.state, filters.project_state)} if self.state else None,
        ]
        return {**self.page(), "filter": _all(conditions), "includeArchived": self.include_archived}


class IssueFilters(Params):
    team_id: Word = Field(description=TEAM, examples=["ENG", "Engineering"])
    project_id: Word = Field(description=PROJECT, examples=["Checkout 2.0"])
    assignee_id: Word = Field(
        description="A user's name, e-mail address or id; `none` for unassigned issues. `me` is the connected "
        "app, not a person.",
        examples=["ada@acme.example", "none"],
    )
    state: Several = Field(
        description="`open`, `closed`, a type (triage, backlog, unstarted, started, completed, canceled, duplicate) or "
        "the name of a state.",
        examples=["open", "In Review"],
    )
    label: Several = Field(description="A label's name or id.", examples=["Bug"])
    priority: Priority = Field(description="Only issues with this priority.")
    cycle: Word = Field(
        description="`current`, `next`, `previous`, `none`, or a cycle's number or name.", examples=["current"]
    )
    parent_id: IssueWord = Field(description="Only sub-issues of this issue: its identifier, id or URL.")
    updated_since: Since = Field(description="A date, a time, or a duration before now.", examples=["2026-11-01", "7d"])
    created_since: Since = Field(description="A date, a time, or a duration before now.", examples=["2026-11-01", "7d"])
    include_archived: bool = Field(default=False, description="Include archived issues.")

    def filter(self) -> Json | None:
        conditions: Mapping[str, object] = {
            "team": filters.team(self.team_id) if self.team_id else None,
            "project": filters.project(self.project_id) if self.project_id else None,
            "assignee": filters.assignee(self.assignee_id) if self.assignee_id else None,
            "state": filters.any_of(self.state, filters.state) if self.state else None,
            **_label_filters(self.label or ()),
            "priority": filters.priority(self.priority) if self.priority else None,
            "cycle": filters.cycle(self.cycle) if self.cycle else None,
            "parent": filters.issue(self.parent_id) if self.parent_id else None,
            "updatedAt": {"gte": self.updated_since} if self.updated_since else None,
            "createdAt": {"gte": self.created_since} if self.created_since else None,
        }
        return {name: condition for name, condition in conditions.items() if condition} or None


class ListIssues(Paged, IssueFilters):
    aliases: ClassVar[Mapping[str, str]] = OF_ISSUES
    order_by: Annotated[Literal["updatedAt", "createdAt"], BeforeValidator(order)] = Field(
        default="updatedAt", description="Sort order, latest first."
    )

    @model_validator(mode="before")
    @classmethod
    def _is_no_search(cls, args: object) -> object:
        if isinstance(args, dict) and any(args.get(name) for name in OF_A_SEARCH):
            raise ValueError("To search for words, use `linear_search_issues`, which takes the same filters")
        return args

    def variables(self) -> Json:
        more = {"orderBy": self.order_by, "includeArchived": self.include_archived}
        return {**self.page(), "filter": self.filter(), **more}


class Words(Params):
    query: Annotated[str, StringConstraints(min_length=1, max_length=500)] = Field(
        description="Words to search for, in any order.", examples=["login fails on Safari"]
    )
    include_comments: bool = Field(default=False, description="Also search the comments.")


class SearchIssues(Paged, IssueFilters, Words):
    aliases: ClassVar[Mapping[str, str]] = {
        **OF_ISSUES,
        **dict.fromkeys(("term", "q", "text", "search", "keywords", "searchterm"), "query"),
        **dict.fromkeys(("comments", "searchcomments"), "include_comments"),
    }

    def variables(self) -> Json:
        more = {"includeComments": self.include_comments, "includeArchived": self.include_archived}
        return {"term": self.query, **self.page(), "filter": self.filter(), **more}


class GetIssue(Params):
    aliases: ClassVar[Mapping[str, str]] = {
        **PAGING,
        **dict.fromkeys(("id", "issue", "identifier", "key", "url", "issueidentifier", "issuekey"), "issue_id"),
        **dict.fromkeys(("comments", "commentlimit"), "first"),
        **dict.fromkeys(("offset", "descriptionoffset"), "description_from"),
    }
    issue_id: Annotated[str, StringConstraints(min_length=1, max_length=200), BeforeValidator(issue_word)] = Field(
        description="The issue's identifier such as ENG-123, its id or its URL.", examples=["ENG-123"]
    )
    first: int = Field(
        default=USUAL_COMMENTS,
        ge=0,
        le=MOST_COMMENTS,
        description="Maximum number of comments, latest first; with 3 or fewer, long comments are not cut.",
    )
    after: Cursor = Field(description="`nextCursor` of a result, for the older comments and nothing else.")
    description_from: int = Field(
        default=0,
        ge=0,
        description="`nextDescriptionFrom` of a result, for the next part of the description and nothing else.",
    )
    full: bool = Field(
        default=False, description="Also return Linear's own object under `full`, with many more fields."
    )

    def variables(self) -> Json:
        return {"id": self.issue_id, "comments": max(self.first, 1), "after": self.after}


def _label_filters(words: Sequence[str]) -> Json:
    """A filter for issues that have all labels."""
    conditions: list[Json] = [{"labels": {"some": filters.label(word)}} for word in words]
    return conditions[0] if len(conditions) == 1 else {"and": conditions or None}


def project_like(word: str) -> Json:
    """A filter that also matches part of a name."""
    partial: Json = {"name": {"containsIgnoreCase": word}}
    exact = filters.project(word)
    return exact if filters.by_id(word) else {"or": [partial, exact]}


def _all(conditions: list[Json | None]) -> Json | None:
    """A filter that requires all parts."""
    set_conditions = [condition for condition in conditions if condition]
    return set_conditions[0] if len(set_conditions) == 1 else {"and": set_conditions} if set_conditions else None
