"""Linear's tools: list and read teams, projects and issues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from integrations.json_object import Json
from integrations.linear import lookup, queries
from integrations.linear.client import LinearApi, read
from integrations.linear.issue_details import (
    Comment,
    IssueAnswer,
    WholeIssue,
    author,
    comment,
    part_of,
    relations,
    with_preceding_cursors,
)
from integrations.linear.pagination import full_field, item_parser, page
from integrations.linear.params import GetIssue, ListIssues, ListProjects, ListTeams, SearchIssues
from integrations.linear.rendering import bound_node, excerpt, is_cut
from integrations.linear.result_lists import HitPage, IssuePage, ProjectPage, TeamPage, paging
from integrations.linear.results import Hit, Issue, Project, Team
from integrations.tool import tool

MOST_OF_COMMENTS, ROOM_OF_ONE = 16_000, 8_000
SHORT = ("id", "identifier", "title", "url", "state")
OTHERS: Mapping[str, str] = {
    "children": "sub-issues",
    "relations": "relations",
    "inverseRelations": "relations from others",
    "attachments": "attachments",
}
HOW_TO_SEE: Mapping[str, str] = {"children": "`linear_list_issues` with `parentId` lists them all"}
FEWER = "`first` 1 returns more of them, and Linear shows them whole"
WHOLE_ISSUE = "`linear_get_issue` returns the whole description, part by part"
IN_LINEAR = "Linear shows them whole"


@tool("List teams")
async def linear_list_teams(api: LinearApi, params: ListTeams) -> TeamPage:
    """List the teams of the Linear workspace that the connected app may see.

    Use it first, to learn the keys of teams (ENG) and the names of their states, which the filters of
    linear_list_issues and linear_search_issues take. Returns key, name, description, current cycle, the states
    that an issue can have (with their types), a link. `query` matches part of a name or key.
    For the next page, pass `nextCursor` as `after`. If a team is missing, a workspace admin has to give the app
    access to it.
    """
    response = await api.query_page(queries.teams(full=params.full), params.variables())
    workspace_key = (response.data.get("organization") or {}).get("urlKey")
    teams = response.data.get("teams")
    full = full_field(teams, params.full)
    parse_team = item_parser(
        Team, lambda node: {"url": f"https://linear.app/{workspace_key}/team/{node.get('key')}/all", **full(node)}
    )
    result_page = page(teams, "teams", parse_team, response.notes)
    notes = (
        [] if result_page.items or params.after else [lookup.NO_TEAM if params.query is None else lookup.NO_SUCH_TEAM]
    )
    return TeamPage(
        teams=list(result_page.items),
        **paging(result_page, *notes, *_cut((item.full for item in result_page.items), FEWER)),
    )


@tool("List projects")
async def linear_list_projects(api: LinearApi, params: ListProjects) -> ProjectPage:
    """List Linear projects, latest change first.

    Use it to find a project by part of its name (`query`), the projects of a team, or those in a state (`open` for all
    that are neither completed nor canceled). Returns name, status, health, progress, lead, teams, dates, a link, and
    the id; `projectId` of the issue tools accepts the id or the name. For the whole description (Markdown),
    milestones, members and the last update, use `full` true with a `query`. For the next page, pass `nextCursor` as
    `after`.
    """
    response = await api.query_page(queries.projects(full=params.full), params.variables())
    projects = response.data.get("projects")
    result_page = page(projects, "projects", item_parser(Project, full_field(projects, params.full)), response.notes)
    notes = await lookup.explain_result(api, params, [item.status for item in result_page.items])
    return ProjectPage(
        projects=list(result_page.items),
        **paging(result_page, *notes, *_cut((item.full for item in result_page.items), FEWER)),
    )


@tool("List issues")
async def linear_list_issues(api: LinearApi, params: ListIssues) -> IssuePage:
    """List Linear issues by team, project, assignee, state, label, priority, cycle, parent or time.

    Use it for questions such as "what is open in ENG?" or "what is Ada working on?"; to search for words, use
    linear_search_issues. Filters accept names, keys, ids or URLs, and an issue has to match all of them; `state`
    accepts `open`, `closed`, a type or a state's name. Returns identifier, title, state, assignee, priority, project,
    labels, dates, a link; read the description and the comments with linear_get_issue. An empty result says which
    name is unknown. The latest change comes first. For the next page, pass `nextCursor` as `after` with the same
    filters. Archived issues come only with `includeArchived`.
    """
    response = await api.query_page(queries.issues(full=params.full), params.variables())
    issues = response.data.get("issues")
    result_page = page(issues, "issues", item_parser(Issue, full_field(issues, params.full)), response.notes)
    notes = await lookup.explain_result(api, params, [item.state for item in result_page.items])
    return IssuePage(
        issues=list(result_page.items),
        order=params.order_by,
        **paging(result_page, *notes, *_cut((item.full for item in result_page.items), WHOLE_ISSUE)),
    )


@tool("Read an issue")
async def linear_get_issue(api: LinearApi, params: GetIssue) -> IssueAnswer:
    """Read one Linear issue with everything that its page shows.

    Use it if you know the identifier (ENG-123), the id or the URL; else find it with linear_search_issues. Returns
    description (Markdown), state, assignee, priority, project, milestone, cycle, dates, labels, branch name,
    sub-issues, relations (blocks, blocked by, …), attachments such as pull requests, and the latest comments. A long
    description comes in parts of 12,000 characters; for the next part, pass `nextDescriptionFrom` as `descriptionFrom`.
    `first` is the number of comments (10, at most 50); for only the older ones, pass `nextCursor` as `after`.
    """
    response = await api.query_page(queries.issue(full=params.full), params.variables(), "comments")
    node: Json = response.data.get("issue") or {}
    edges = with_preceding_cursors(node.get("comments"), params.after)
    parse_comment = item_parser(Comment, lambda comment_node: comment(comment_node, params.first))
    comments = page(edges, "comments", parse_comment, response.notes, MOST_OF_COMMENTS)
    description, next_from = part_of(node.get("description"), params.description_from)
    fields = {
        "creator": author(node, "creator", "botActor", "externalUserCreator"),
        "relations": relations(node),
        "comments": [item.model_dump() for item in comments.items] if params.first else [],
        **_full_of_one(node, params.full),
    }
    described: Json = {"description": description, "nextDescriptionFrom": next_from}
    short = {name: node.get(name) for name in SHORT}
    if params.description_from:
        return IssueAnswer(issue=read(WholeIssue, {**short, **described}))
    if params.after:
        return IssueAnswer(issue=read(WholeIssue, {**short, "comments": fields["comments"]}), **paging(comments))
    issue = read(WholeIssue, {**node, **fields, **described})
    return IssueAnswer(issue=issue, **paging(comments, *_left_out(node), *_cut([issue.full], IN_LINEAR)))


@tool("Search issues")
async def linear_search_issues(api: LinearApi, params: SearchIssues) -> HitPage:
    """Search Linear issues by words and by meaning, best match first.

    Use it to find issues about a subject; for an identifier such as ENG-123 use linear_get_issue, and without words
    linear_list_issues. It takes the same filters: team, project, assignee, state, label, priority, cycle, parent,
    time. Returns identifier, title, state, assignee, an excerpt of the description, a link, and the total number of
    matches; read one with linear_get_issue. `includeComments` also searches comments. For the next page, pass
    `nextCursor` as `after` with the same arguments. Linear allows 30 searches a minute.
    """
    response = await api.query_page(queries.search(full=params.full), params.variables())
    hits = response.data.get("searchIssues")
    full = full_field(hits, params.full)
    parse_hit = item_parser(Hit, lambda node: {"excerpt": excerpt(node.get("description"), params.query), **full(node)})
    result_page = page(hits, "issues", parse_hit, response.notes)
    notes = await lookup.explain_result(api, params, [item.state for item in result_page.items])
    return HitPage(
        issues=list(result_page.items),
        total=result_page.total,
        **paging(result_page, *notes, *_cut((item.full for item in result_page.items), WHOLE_ISSUE)),
    )


def _left_out(node: Json) -> Iterator[str]:
    """Notes on truncated lists of an issue, except comments, which are paged."""
    for field, what in OTHERS.items():
        if ((node.get(field) or {}).get("pageInfo") or {}).get("hasNextPage"):
            yield f"There are more {what} than shown: {HOW_TO_SEE.get(field, 'open `url` to see the others')}."


def _full_of_one(node: Json, is_wanted: bool) -> Json:
    """Linear's own object without comments and description, which come in parts."""
    rest = {name: value for name, value in node.items() if name not in ("comments", "description")}
    return {"full": bound_node(rest, ROOM_OF_ONE)} if is_wanted else {}


def _cut(full: Iterable[Json | None], how: str) -> list[str]:
    return [f"Long texts in `full` are cut: {how}."] if any(map(is_cut, full)) else []


TOOLS = [linear_list_teams, linear_list_projects, linear_list_issues, linear_get_issue, linear_search_issues]
API = LinearApi
